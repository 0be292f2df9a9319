package docs_test

import (
	"crypto/sha256"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/sluice-dev/sluice/policies"
)

// The digests of the shipped policies in the README are those of the modules that are built in.
func TestTheReadmeShowsTheDigestsThatShip(t *testing.T) {
	text, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	shown := map[string]string{} // by policy
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) > 3 && f[3] == "active" {
			shown[f[0]] = f[1]
		}
	}
	for _, m := range policies.Shipped() {
		if got, want := shown[m.Name], fmt.Sprintf("%x", sha256.Sum256(m.Wasm))[:12]; got != want {
			t.Errorf("the README shows %q as the digest of %s, which is %s", got, m.Name, want)
		}
	}
}
