// Package conformance checks that two modules of one policy, built from two languages, cannot be told apart: they decide the
// same to the byte, log the same lines, take and refuse the same settings in the same words, and read each other's state.
//
// It is not a list of what a policy must do: that is for each policy's own tests. One of the two modules is taken as right.
//
//	for _, m := range policies.Shipped() {
//		conformance.Compare(t, m.Name, m.Wasm, built[m.Name])
//	}
//
// What it draws follows from a seed, which a failure names; `go test -conformance.seed N` draws the same again.
package conformance

import (
	"cmp"
	"flag"
	"fmt"
	"maps"
	"slices"
	"testing"
)

var (
	seedFlag  = flag.Uint64("conformance.seed", 1, "what the traffic shown to both modules follows from")
	stepsFlag = flag.Int("conformance.steps", 2000, "steps of traffic under each configuration")
)

// Compare fails the test where the module got differs from the module want. The name says which settings to try: those of a
// policy that ships, or none. What got costs goes to the test's log.
func Compare(t *testing.T, name string, want, got []byte) {
	t.Helper()
	CompareWith(t, name, SettingsOf(name), want, got)
}

// CompareWith is Compare with settings of one's own.
func CompareWith(t *testing.T, name string, s Settings, want, got []byte) {
	t.Helper()
	report, err := compare(run{name: name, settings: s, seed: *seedFlag, steps: *stepsFlag, cache: t.TempDir()}, want, got)
	if err != nil {
		t.Errorf("%s: %v\n(go test -conformance.seed %d draws the same again)", name, err, *seedFlag)
		return
	}
	compareAlone(t, name, s, *seedFlag, want, got)
	t.Logf("%s: %d bytes instead of %d%s", name, len(got), len(want), report)
}

// run is what is compared.
type run struct {
	name     string
	settings Settings
	seed     uint64
	steps    int
	cache    string // of compiled modules; "" for none
}

// compare returns the first difference, or what got cost.
func compare(r run, want, got []byte) (report string, err error) {
	if err := r.refusals(want, got); err != nil {
		return "", err
	}
	most := map[string]uint64{}
	for i, config := range r.settings.Taken {
		a, err := serve(r, want, config)
		if err != nil {
			return "", fmt.Errorf("the module that is right is refused with %v: %w", config, err)
		}
		defer a.close()
		b, err := serve(r, got, config)
		if err != nil {
			return "", fmt.Errorf("it is refused with %v: %w", config, err)
		}
		defer b.close()
		if err := r.traffic(i, a, b); err != nil {
			return "", fmt.Errorf("with %v: %w", config, err)
		}
		if i == 0 {
			if err := r.swap(a, b, want, got); err != nil {
				return "", err
			}
		}
		b.fuel(most)
	}
	for _, hook := range sortedKeys(most) {
		if most[hook] > 0 {
			report += fmt.Sprintf(", %s at most %d units of fuel", hook, most[hook])
		}
	}
	return report, nil
}

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }

// refusals checks that both modules refuse the same settings in the same words.
func (r run) refusals(want, got []byte) error {
	for _, config := range r.settings.Refused {
		a, b := refusal(r, want, config), refusal(r, got, config)
		if a == "" {
			return fmt.Errorf("the module that is right takes %v", config)
		}
		if a != b {
			return fmt.Errorf("it refuses %v otherwise:\nwant %s\ngot  %s", config, a, b)
		}
	}
	return nil
}

// traffic shows both the same states.
func (r run) traffic(variant int, a, b *server) error {
	draw := newTraffic(r.seed, uint64(variant))
	for step := range r.steps {
		s := draw.next()
		if err := differ(a.ask(s), b.ask(s)); err != nil {
			return fmt.Errorf("step %d, %s: %w", step, s, err)
		}
	}
	return nil
}

// swap hands the state that one module has learned to itself, to the other and back, each time with other settings, since
// the same module with the same settings is no change.
func (r run) swap(a, b *server, want, got []byte) error {
	one, other := r.settings.Taken[0], r.settings.Taken[len(r.settings.Taken)-1]
	if len(r.settings.Taken) < 2 {
		return nil
	}
	for i, s := range []struct {
		what   string
		next   []byte // in b's place
		config map[string]string
	}{
		{"it took over from itself", got, other}, {"the module that is right took over from it", want, one},
		{"it took over from the module that is right", got, other},
	} {
		if err := a.push(want, s.config); err != nil {
			return fmt.Errorf("push the module that is right with %v: %w", s.config, err)
		}
		if err := b.push(s.next, s.config); err != nil {
			return fmt.Errorf("push with %v: %w", s.config, err)
		}
		if err := r.traffic(1000+i, a, b); err != nil {
			return fmt.Errorf("after %s, with %v: %w", s.what, s.config, err)
		}
	}
	return nil
}
