package registry

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluice-dev/sluice/plugins"
	"github.com/sluice-dev/sluice/plugins/internal/guesttest"
	"github.com/sluice-dev/sluice/plugins/store"
)

func (r *rig) warned(words ...string) {
	r.t.Helper()
	text := strings.Join(r.started.Warnings, "\n")
	for _, w := range words {
		if !strings.Contains(text, w) {
			r.t.Errorf("no warning says %q:\n%s", w, text)
		}
	}
	if len(words) == 0 && text != "" {
		r.t.Errorf("warnings:\n%s", text)
	}
}

func TestARestartRunsWhatWasInForce(t *testing.T) {
	dir := t.TempDir()
	r := begin(t, Options{Dir: dir}, policy("p", 1), policy("q", 9))
	if r.started.Source != FromConfiguration || r.started.Revision != 1 {
		t.Errorf("%+v", r.started)
	}
	r.push("p", 2)
	r.push("extra", 5)
	if _, err := r.Disable(background, "q", ada); err != nil {
		t.Fatal(err)
	}
	want := r.Snapshot().Revision
	r.stop()

	r = begin(t, Options{Dir: dir}, policy("p", 1), policy("q", 9))
	if r.started.Source != FromStore || r.started.Revision != want || !strings.Contains(r.started.Why, "by ada") {
		t.Errorf("%+v", r.started)
	}
	r.warned()
	if r.mark() != 2 || r.names() != "p:active q:disabled extra:active " {
		t.Errorf("%d decides, %s", r.mark(), r.names())
	}
	if n := len(r.entries()); n != 4 {
		t.Errorf("%d entries: a restart is no change", n)
	}
	// The version before is still there to go back to.
	if _, err := r.Rollback(background, "p", ada); err != nil || r.mark() != 1 {
		t.Errorf("after a rollback %d decides, %v", r.mark(), err)
	}
}

// A start without a stored set says why there is none, so that a first one does not read like a loss.
func TestAStartWithoutAStoredSetSaysWhy(t *testing.T) {
	dir := t.TempDir()
	why := func(opt Options, words string) {
		t.Helper()
		r := begin(t, opt, policy("p", 1))
		defer r.stop()
		if r.started.Source != FromConfiguration || !strings.Contains(r.started.Why, words) || r.mark() != 1 {
			t.Errorf("%+v, want %q", r.started, words)
		}
	}
	why(Options{}, "not stored")
	why(Options{Dir: dir}, "first start")
	manifests, err := filepath.Glob(filepath.Join(dir, "manifests", "*.json"))
	if err != nil || len(manifests) != 1 {
		t.Fatal(manifests, err)
	}
	if err := os.Truncate(manifests[0], 10); err != nil {
		t.Fatal(err)
	}
	why(Options{Dir: dir}, "no set of the policy store is whole")
}

// Two versions may be the same module with different settings.
func TestSettingsOutliveARestart(t *testing.T) {
	dir := t.TempDir()
	r := begin(t, Options{Dir: dir})
	for _, v := range []string{"one", "two"} {
		if _, err := r.Push(background, Request{Name: "p", Wasm: configurable(1), Config: map[string]string{"k": v}, By: ada}); err != nil {
			t.Fatal(err)
		}
	}
	r.stop()
	r = begin(t, Options{Dir: dir})
	if got := r.Snapshot().Policies[0].Config["k"]; got != "two" {
		t.Errorf("after a restart: %q", got)
	}
	if _, err := r.Rollback(background, "p", ada); err != nil {
		t.Fatal(err)
	}
	if got := r.Snapshot().Policies[0].Config["k"]; got != "one" {
		t.Errorf("after a rollback: %q", got)
	}
}

func TestAConfigurationThatChangedWins(t *testing.T) {
	dir := t.TempDir()
	r := begin(t, Options{Dir: dir}, policy("p", 1))
	r.push("p", 2)
	r.push("extra", 5)
	r.stop()

	r = begin(t, Options{Dir: dir}, policy("p", 3))
	if r.started.Source != FromConfiguration || !strings.Contains(r.started.Why, "changed since revision 3") {
		t.Errorf("%+v", r.started)
	}
	r.warned("policy extra@", "a rollback brings that back")
	if r.mark() != 3 || r.names() != "p:active " || r.entries()[0].Op != store.OpConfigure {
		t.Errorf("%d decides, %s, %+v", r.mark(), r.names(), r.entries()[0])
	}
	if _, err := r.Rollback(background, "p", ada); err != nil || r.mark() != 2 {
		t.Errorf("after a rollback %d decides, %v", r.mark(), err)
	}
	r.stop()
	r = begin(t, Options{Dir: dir}, policy("p", 3))
	if r.started.Source != FromStore || r.mark() != 2 {
		t.Errorf("%+v, %d decides", r.started, r.mark())
	}
}

func TestARefusedConfigurationEndsTheStart(t *testing.T) {
	junk := plugins.Policy{Name: "junk", Wasm: []byte("junk")}
	var refused *plugins.RefusedError
	if _, err := try(t, Options{}, false, policy("p", 1), junk); !errors.As(err, &refused) {
		t.Errorf("got %v", err)
	}
	r, err := try(t, Options{}, true, policy("p", 1), junk)
	if err != nil {
		t.Fatal(err)
	}
	r.warned("junk")
	if r.names() != "p:suspended " {
		t.Errorf("in safe mode: %s", r.names())
	}
	if _, err := try(t, Options{}, false, policy("p", 1), policy("p", 2)); err == nil || !strings.Contains(err.Error(), `two policies are named "p"`) {
		t.Errorf("got %v", err)
	}
}

func TestSafeModeOutlivesARestartAndItsFlagDoesNot(t *testing.T) {
	dir := t.TempDir()
	r, err := try(t, Options{Dir: dir}, true, policy("p", 1))
	if err != nil || !r.started.SafeMode || r.mark() != 0 {
		t.Fatalf("%+v, %v", r.started, err)
	}
	r.stop()
	r = begin(t, Options{Dir: dir}, policy("p", 1))
	if r.started.SafeMode || r.mark() != 1 {
		t.Errorf("the flag outlived its run: %+v", r.started)
	}
	if _, err := r.SafeMode(background, true, ada); err != nil {
		t.Fatal(err)
	}
	r.stop()
	r = begin(t, Options{Dir: dir}, policy("p", 1))
	if !r.started.SafeMode || !r.Snapshot().SafeMode || r.mark() != 0 {
		t.Errorf("%+v, %d decides", r.started, r.mark())
	}
	if _, err := r.SafeMode(background, false, ada); err != nil || r.mark() != 1 {
		t.Errorf("%v, %d decides", err, r.mark())
	}
}

// What cannot be read is replaced by the best that can: the configured module if it is the same one, the version before,
// the configured version, the native default; always with a warning.
func TestADamagedModuleAtTheStart(t *testing.T) {
	for _, c := range []struct {
		name       string
		configured []plugins.Policy
		damage     []int32 // marks
		mark       uint32
		warns      []string
	}{
		{"the version before", nil, []int32{2}, 1, []string{"is damaged", "is used instead"}},
		{"the configured one", []plugins.Policy{policy("p", 3)}, []int32{1, 2}, 3, []string{"is damaged", "is used instead"}},
		{"the same one in the configuration", []plugins.Policy{policy("p", 2)}, []int32{2}, 2, nil},
		{"none", nil, []int32{1, 2}, 7, []string{"the native default decides"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			r := begin(t, Options{Dir: dir}, c.configured...)
			r.push("p", 1)
			r.push("p", 2)
			r.push("other", 7)
			r.stop()
			for _, mark := range c.damage {
				damageModule(t, dir, store.Digest(guesttest.Admitter(mark)))
			}
			r = begin(t, Options{Dir: dir}, c.configured...)
			r.warned(c.warns...)
			if got := r.mark(); got != c.mark {
				t.Errorf("%d decides, want %d; %s", got, c.mark, r.names())
			}
			if e := r.entries()[0]; len(c.warns) > 0 && (e.Op != store.OpRecover || e.Who != "sluice" || e.Why == "") {
				t.Errorf("entry %+v", e)
			}
			r.stop()
			r = begin(t, Options{Dir: dir}, c.configured...)
			r.warned() // it is settled
		})
	}
}

func TestADamagedSetAtTheStart(t *testing.T) {
	dir := t.TempDir()
	r := begin(t, Options{Dir: dir})
	r.push("p", 1)
	r.push("p", 2)
	r.stop()
	newest, err := filepath.Glob(filepath.Join(dir, "manifests", "*3.json"))
	if err != nil || len(newest) != 1 {
		t.Fatal(newest, err)
	}
	if err := os.Truncate(newest[0], 100); err != nil {
		t.Fatal(err)
	}
	r = begin(t, Options{Dir: dir})
	r.warned("revision 3 is damaged", "revision 2 is used instead")
	if r.mark() != 1 || r.started.Revision != 4 || r.entries()[0].Op != store.OpRecover {
		t.Errorf("%d decides, %+v, %s", r.mark(), r.started, who(r.entries()))
	}
	r.stop()
	r = begin(t, Options{Dir: dir})
	r.warned()
	if r.mark() != 1 || r.started.Revision != 4 {
		t.Errorf("%d decides, %+v", r.mark(), r.started)
	}
}

func TestAShadowIsForgottenByARestart(t *testing.T) {
	dir := t.TempDir()
	r := begin(t, Options{Dir: dir}, policy("p", 1))
	if _, err := r.Shadow(background, Request{Name: "p", Wasm: guesttest.Admitter(2), By: ada}); err != nil {
		t.Fatal(err)
	}
	r.stop()
	r = begin(t, Options{Dir: dir}, policy("p", 1))
	r.warned("the shadow of policy p is gone")
	if s := r.Snapshot().Policies[0].Shadow; s != nil {
		t.Errorf("%+v", s)
	}
	// Its module is still known by its digest.
	if _, err := r.Push(background, Request{Name: "p", Digest: store.Digest(guesttest.Admitter(2)), By: ada}); err != nil || r.mark() != 2 {
		t.Errorf("%v, %d decides", err, r.mark())
	}
}

// What was in quarantine is not run again before somebody says so.
func TestQuarantinesAreRecordedAndNotRunAgain(t *testing.T) {
	dir := t.TempDir()
	r := begin(t, Options{Dir: dir})
	r.push("p", 1)
	if _, err := r.Push(background, Request{Name: "p", Wasm: breaker(2), By: ada}); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Push(background, Request{Name: "lone", Wasm: breaker(3), By: ada}); err != nil {
		t.Fatal(err)
	}
	r.eventually("two quarantines", func() bool {
		r.ask(7)
		return strings.Contains(who(r.entries()), "sluice:restored") && strings.Count(who(r.entries()), "sluice:quarantined") == 2
	})
	for _, e := range r.entries() {
		if e.Op == store.OpQuarantined && (e.Left == nil || e.Left.Fallbacks < 5 || e.Left.Faults["trap"] < 5) {
			t.Errorf("%+v, %+v", e, e.Left)
		}
	}
	if r.mark() != 1 || r.names() != "p:active lone:quarantined " {
		t.Errorf("%d decides, %s", r.mark(), r.names())
	}
	r.stop()

	r = begin(t, Options{Dir: dir})
	r.warned("policy lone@", "in quarantine", "enable it")
	if r.mark() != 1 || r.names() != "p:active lone:disabled " {
		t.Errorf("after a restart: %d decides, %s", r.mark(), r.names())
	}
	if _, err := r.Enable(background, "lone", ada); err != nil || r.names() != "p:active lone:active " {
		t.Errorf("%v, %s", err, r.names())
	}
}
