package registry

import (
	"bufio"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluice-dev/sluice/plugins"
	"github.com/sluice-dev/sluice/plugins/internal/guesttest"
	"github.com/sluice-dev/sluice/plugins/store"
	"github.com/sluice-dev/sluice/plugins/wazero"
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
			if !errors.Is(err, ErrUndone) || errors.Is(err, ErrUnrecorded) {
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

// A disk that takes no modules either has nothing brought in, and a watched file is tried again until it has room.
func TestAModuleThatCannotBeStoredIsNotPushed(t *testing.T) {
	dir := t.TempDir()
	r := begin(t, Options{Dir: dir})
	f := r.watching(t.TempDir())
	r.push("p", 1)
	modules := filepath.Join(dir, "modules")
	if err := os.Rename(modules, modules+".away"); err != nil {
		t.Fatal(err)
	}
	_, err := r.Push(background, Request{Name: "p", Wasm: guesttest.Admitter(2), By: ada})
	if !errors.Is(err, ErrUndone) || r.mark() != 1 {
		t.Errorf("%v, and %d decides", err, r.mark())
	}
	f.write("w.wasm", guesttest.Admitter(3))
	r.eventually("a complaint", func() bool { return strings.Contains(r.log.String(), "a watched policy cannot be recorded") })
	if err := os.Rename(modules+".away", modules); err != nil {
		t.Fatal(err)
	}
	r.eventually("the watched one", r.has("p:active w:active "))
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
		acked := killChild(t, dir, 1+3*round)
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

// killChild kills a child after so many changes and returns the last revision that it acknowledged.
func killChild(t *testing.T, dir string, changes int) (acked uint64) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childDir+"="+dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	killed := false
	for lines := bufio.NewScanner(out); lines.Scan(); { // to the end: also what it said before the signal reached it
		if _, err := fmt.Sscan(lines.Text(), &acked); err != nil && !killed { // a killed one may end within a line
			t.Fatalf("child: %s", lines.Text())
		}
		if changes--; changes > 0 || killed {
			continue
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		killed = true
	}
	cmd.Wait() // "signal: killed"
	return acked
}
