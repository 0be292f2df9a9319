package conformance

import (
	"strings"
	"testing"

	"github.com/sluice-dev/sluice/policies"
)

// A policy is what it is, also when its state went to and fro.
func TestAPolicyEqualsItself(t *testing.T) {
	for _, m := range policies.Shipped() {
		if m.Name == "tpot-cap" {
			Compare(t, m.Name, m.Wasm, m.Wasm)
		}
	}
}

// Another policy is found out, and so is the same one with another setting.
func TestADifferenceIsFound(t *testing.T) {
	wasm := map[string][]byte{}
	for _, m := range policies.Shipped() {
		wasm[m.Name] = m.Wasm
	}
	r := run{name: "tpot-cap", settings: SettingsOf("tpot-cap"), seed: 1, steps: 300, cache: t.TempDir()}
	if _, err := compare(r, wasm["tpot-cap"], wasm["spec-off"]); err == nil || !strings.Contains(err.Error(), "unknown key") {
		t.Errorf("spec-off passes for tpot-cap: %v", err)
	}
	for name, setting := range map[string]map[string]string{
		"queue-age": {"max_age": "9.99s"}, "class-priority": {"preempt_limit": "3"}, "tpot-cap": {"settle_steps": "40"}, "spec-off": {"k": "14"},
	} {
		r := run{name: name, seed: 1, steps: 3000, cache: r.cache}
		a, err := serve(r, wasm[name], nil)
		if err != nil {
			t.Fatal(err)
		}
		defer a.close()
		b, err := serve(r, wasm[name], setting)
		if err != nil {
			t.Fatal(err)
		}
		defer b.close()
		if err := r.traffic(0, a, b); err == nil {
			t.Errorf("%s with %v decides as it does without", name, setting)
		}
	}
}
