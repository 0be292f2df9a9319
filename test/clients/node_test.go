package clients

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluice-dev/sluice/gpu/llama"
)

// nodeClient is the folder in which set-up put the official client for Node.
func nodeClient(t *testing.T) string {
	t.Helper()
	cache, err := llama.CacheDir()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(cache, "clients-openai-npm-6.49.0")
	_, missing := os.Stat(path)
	if _, err := exec.LookPath("node"); err != nil {
		missing = err
	}
	if missing != nil {
		if os.Getenv("SLUICE_REQUIRE_MODEL") != "" {
			t.Fatalf("%v: run make setup SETUP_FLAGS=--with-clients", missing)
		}
		t.Skipf("%v: run make setup SETUP_FLAGS=--with-clients to test the Node client", missing)
	}
	return path
}

// Every case of the script holds; it names those that do.
func TestNode(t *testing.T) {
	folder := nodeClient(t)
	t.Parallel()
	s, r429, r503 := plain(t), refusing(t, 429), refusing(t, 503)
	out, err := exec.CommandContext(t.Context(), "node", "testdata/client.mjs", folder, s.Info.Model,
		s.URL, r429.URL, r503.URL, failing(t).URL, draining(t).URL).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if n := strings.Count(string(out), "PASS "); n != 10 {
		t.Errorf("%d of 10 cases:\n%s", n, out)
	}
	checkRetried(t, r429)
	checkRetried(t, r503)
}
