package registry

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"testing"

	"github.com/sluice-dev/sluice/plugins"
	"github.com/sluice-dev/sluice/plugins/internal/guesttest"
	"github.com/sluice-dev/sluice/plugins/store"
	"github.com/sluice-dev/sluice/plugins/wazero"
	"github.com/sluice-dev/sluice/test/kill"
)

// What would put a version into force is undone when it cannot be recorded.
func TestAPushThatCannotBeRecordedIsUndone(t *testing.T) {
	dir := t.TempDir()
	r := begin(t, Options{Dir: dir})
	rev := r.push("p", 1).Revision
	r.Shadow(background, Request{Name: "p", Wasm: guesttest.Admitter(5), By: ada})
	rev++
	withoutDisk(t, dir, func() {
		for name, do := range map[string]func() (Result, error){
			"push": func() (Result, error) {
				return r.Push(background, Request{Name: "p", Wasm: guesttest.Admitter(2), By: ada})
			},
			"new": func() (Result, error) {
				return r.Push(background, Request{Name: "new", Wasm: guesttest.Admitter(3), By: ada})
			},
			"promote": func() (Result, error) { return r.Promote(background, "p", ada) },
		} {
			_, err := do()
			if err == nil || errors.Is(err, ErrUnrecorded) || !strings.Contains(err.Error(), "undone") {
				t.Errorf("%s: %v", name, err)
			}
			if r.mark() != 1 || r.names() != "p:active " || r.Snapshot().Revision != rev {
				t.Errorf("%s: %d decides, %s, revision %d", name, r.mark(), r.names(), r.Snapshot().Revision)
			}
		}
	})
	r.push("p", 4)
	if r.mark() != 4 {
		t.Errorf("%d decides", r.mark())
	}
	r.entries()
}

// What makes the server safer stays, and is recorded with the next change that can be.
func TestARollbackThatCannotBeRecordedStays(t *testing.T) {
	dir := t.TempDir()
	r := begin(t, Options{Dir: dir})
	r.push("p", 1)
	r.push("p", 2)
	withoutDisk(t, dir, func() {
		res, err := r.Rollback(background, "p", ada)
		if !errors.Is(err, ErrUnrecorded) || r.mark() != 1 || res.Revision != 4 {
			t.Errorf("%+v, %v, %d decides", res, err, r.mark())
		}
		if res, err := r.Disable(background, "p", By{IfMatch: 4}); !errors.Is(err, ErrUnrecorded) || r.mark() != 0 || res.Revision != 5 {
			t.Errorf("%+v, %v, %d decides", res, err, r.mark())
		}
		if _, err := r.Enable(background, "p", ada); err == nil || !strings.Contains(err.Error(), "undone") || r.mark() != 0 {
			t.Errorf("%v, %d decides", err, r.mark())
		}
	})
	r.push("q", 7)
	if got, want := who(r.entries()), "ada:push unknown:disable ada:rollback ada:push ada:push configuration:configure "; got != want {
		t.Errorf("history %s, want %s", got, want)
	}
	r.stop()
	r = begin(t, Options{Dir: dir})
	if r.names() != "p:disabled q:active " {
		t.Errorf("after a restart: %s", r.names())
	}
}

// The last chance to record is the end, whichever of the two ends first.
func TestTheEndRecordsWhatIsLeft(t *testing.T) {
	for _, hostFirst := range []bool{false, true} {
		dir := t.TempDir()
		r := begin(t, Options{Dir: dir})
		r.push("p", 1)
		withoutDisk(t, dir, func() { r.Remove(background, "p", ada) })
		if hostFirst {
			r.h.Close()
		}
		r.stop()
		if r = begin(t, Options{Dir: dir}); r.names() != "" || r.entries()[0].Op != store.OpRemove {
			t.Errorf("%s, %s", r.names(), who(r.entries()))
		}
	}
}

// A host that is closed lists nothing, and that is not recorded.
func TestAHostThatIsClosedFirst(t *testing.T) {
	dir := t.TempDir()
	r := begin(t, Options{Dir: dir})
	r.push("p", 1)
	r.h.Close()
	if _, err := r.Disable(background, "p", ada); !errors.Is(err, plugins.ErrClosed) {
		t.Errorf("got %v", err)
	}
	r.OnEvent(plugins.Event{Kind: plugins.EventQuarantined, Name: "p"}) // that came late
	r.stop()
	if r = begin(t, Options{Dir: dir}); r.names() != "p:active " || r.entries()[0].Op != store.OpQuarantined {
		t.Errorf("after a restart: %s, %s", r.names(), who(r.entries()))
	}
}

const childDir = "SLUICE_REGISTRY_CHILD"

// TestMain lets the test binary be the process that is killed.
func TestMain(m *testing.M) {
	if dir := os.Getenv(childDir); dir != "" {
		fmt.Println("failed", child(dir))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// child pushes for ever: the policy of revision n has mark n.
func child(dir string) error {
	reg, err := Open(Options{Dir: dir, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	rt, err := wazero.New(wazero.Options{})
	if err != nil {
		return err
	}
	h := plugins.New(rt, plugins.Options{OnEvent: reg.OnEvent})
	if _, err := reg.Start(background, h, nil, false); err != nil {
		return err
	}
	for {
		mark := int32(reg.Snapshot().Revision) + 1
		res, err := reg.Push(background, Request{Name: "p", Wasm: guesttest.Admitter(mark), By: ada})
		if err != nil {
			return err
		}
		fmt.Println(res.Revision)
	}
}

// After kill -9 the server runs the last set that was acknowledged, or the one that was being made.
func TestNothingAcknowledgedIsLostByAKill(t *testing.T) {
	if testing.Short() {
		t.Skip("starts and kills processes")
	}
	dir := t.TempDir()
	for round := range 5 {
		acked := uint64(max(0, kill.After(t, 1+3*round, childDir+"="+dir)))
		r := begin(t, Options{Dir: dir})
		r.warned()
		got := uint64(r.mark())
		if rev := r.Snapshot().Revision; rev < acked || rev > acked+1 || got != rev {
			t.Fatalf("round %d: revision %d was acknowledged, %d is there, and %d decides", round, acked, rev, got)
		}
		r.entries()
		r.stop()
	}
}
