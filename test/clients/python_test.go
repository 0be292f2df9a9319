package clients

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluice-dev/sluice/gpu/llama"
)

// python is the interpreter that set-up made for the tests, with the official client.
func python(t *testing.T) string {
	t.Helper()
	cache, err := llama.CacheDir()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(cache, "clients-openai-3.57.0", "bin", "python")
	if _, err := os.Stat(path); err != nil {
		if os.Getenv("SLUICE_REQUIRE_MODEL") != "" {
			t.Fatalf("%v: run make setup SETUP_FLAGS=--with-clients", err)
		}
		t.Skipf("%v: run make setup SETUP_FLAGS=--with-clients to test the Python client", err)
	}
	return path
}

// Every case of the script holds; it names those that do.
func TestPython(t *testing.T) {
	interpreter := python(t)
	t.Parallel()
	s := plain(t)
	r429, r503 := refusing(t, 429), refusing(t, 503)
	out, err := exec.CommandContext(t.Context(), interpreter, "testdata/client.py", s.Info.Model,
		s.URL, r429.URL, r503.URL, failing(t).URL, draining(t).URL).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if n := strings.Count(string(out), "PASS "); n != 20 {
		t.Errorf("%d of 20 cases:\n%s", n, out)
	}
	checkRetried(t, r429)
	checkRetried(t, r503)
}
