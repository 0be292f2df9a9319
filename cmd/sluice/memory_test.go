package main

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A server at its limit of memory gives things up in the order that its file says, and newcomers are told to come again.
func TestAtTheLimitOfMemoryTheServerGivesWayInTheOrderOfItsFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "sluice.yaml")
	if err := os.WriteFile(file, []byte("limits:\n  memory_bytes: 1\n  memory_order: [batch, saved, refuse, cache]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := startSim(t, "SLUICE_CONFIG="+file)
	for _, relief := range []string{"halve the batch", "drop saved KV", "refuse new requests", "drop cached prefixes"} {
		r.says(t, "memory runs short") // each line once, so that they come in this order alone
		if !strings.Contains(r.log.Text(), relief) {
			t.Errorf("the log says %s where %q belongs", r.log.Text(), relief)
		}
	}
	resp, err := http.Post(r.url+"/v1/completions", "application/json", strings.NewReader(`{"prompt":"late","max_tokens":1}`))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(resp.Body)
	if resp.StatusCode != http.StatusServiceUnavailable || resp.Header.Get("x-sluice-reason") != "capacity" || resp.Header.Get("Retry-After") == "" {
		t.Errorf("a newcomer got %d %v: %s", resp.StatusCode, resp.Header, body)
	}
}
