package cases_test

import (
	"testing"

	"github.com/sluice-dev/sluice/cmd/sluice/author/cases/casestest"
	"github.com/sluice-dev/sluice/policies"
)

// The cases of the policies that ship hold for the modules that ship.
func TestShippedPolicies(t *testing.T) {
	for _, m := range policies.Shipped() {
		casestest.Shipped(t, m.Name, m.Wasm)
	}
}
