package docs_test

import (
	"os"
	"strings"
	"testing"
)

// The digests of the shipped policies in the README are those of the modules that are built in.
func TestTheReadmeShowsTheDigestsThatShip(t *testing.T) {
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	built, err := os.ReadFile("../policies/built.txt")
	if err != nil {
		t.Fatal(err)
	}
	shown := map[string]string{} // by policy
	for line := range strings.Lines(string(readme)) {
		if f := strings.Fields(line); len(f) > 3 && f[3] == "active" {
			shown[f[0]] = f[1]
		}
	}
	policies := 0
	for line := range strings.Lines(string(built)) {
		f := strings.Fields(line)
		if len(f) != 4 || f[0] == "#" {
			continue
		}
		policies++
		if got := shown[f[0]]; len(got) != 12 || !strings.HasPrefix(f[2], got) {
			t.Errorf("the README shows %q as the digest of %s, which is %.12s", got, f[0], f[2])
		}
	}
	if policies == 0 {
		t.Error("policies/built.txt names no policy")
	}
}
