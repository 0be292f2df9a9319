package policies

import (
	"slices"
	"testing"

	"github.com/sluice-dev/sluice/policies/internal/shipped"
)

// What is embedded is what is built, each under its own name.
func TestShippedAreThoseThatAreBuilt(t *testing.T) {
	var names []string
	for _, m := range Shipped() {
		names = append(names, m.Name)
		if len(m.Wasm) < 8 || string(m.Wasm[:4]) != "\x00asm" {
			t.Errorf("%s is no module", m.Name)
		}
	}
	if want := shipped.Names(); !slices.Equal(names, want) {
		t.Errorf("embedded %q, built %q", names, want)
	}
}
