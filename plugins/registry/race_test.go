package registry

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/sluice-dev/sluice/plugins"
	"github.com/sluice-dev/sluice/plugins/internal/guesttest"
)

// loop swaps until it is stopped, as a server does.
func (r *rig) loop() (stop func()) {
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		defer r.h.Detach()
		for now := int64(2_000_000_000); ; now += 1_000_000 {
			select {
			case <-done:
				return
			default:
				r.h.Swap(now)
				time.Sleep(50 * time.Microsecond)
			}
		}
	}()
	return func() { close(done); <-ended }
}

// Many admins who each say which revision they saw: of those who saw the same, one gets through. The others are told so, and
// the history is one line in which every change follows the one that its author had seen.
func TestHammerOneWinsAtEachRevision(t *testing.T) {
	dir := t.TempDir()
	r := begin(t, Options{Dir: dir})
	stop := r.loop()
	const admins, rounds = 6, 8
	type won struct{ saw, made uint64 }
	var mu sync.Mutex
	var wins []won
	stale := 0
	var wg sync.WaitGroup
	for a := range admins {
		wg.Go(func() {
			for n := range rounds {
				mark := int32(1 + a*rounds + n) // everyone's own
				for {
					saw := r.Snapshot().Revision
					by := By{Who: fmt.Sprint("admin ", a), IfMatch: saw}
					res, err := r.Push(background, Request{Name: "p", Wasm: guesttest.Admitter(mark), By: by})
					mu.Lock()
					if err == nil {
						wins = append(wins, won{saw, res.Revision})
					} else if errors.Is(err, ErrStale) {
						stale++
					} else {
						t.Errorf("push: %v", err)
					}
					mu.Unlock()
					if err == nil || !errors.Is(err, ErrStale) {
						break
					}
				}
			}
		})
	}
	wg.Wait()
	stop()
	seen := map[uint64]bool{}
	for _, w := range wins {
		if w.made != w.saw+1 || seen[w.saw] {
			t.Errorf("a change of revision %d made %d, twice: %v", w.saw, w.made, seen[w.saw])
		}
		seen[w.saw] = true
	}
	if len(wins) != admins*rounds || stale == 0 {
		t.Errorf("%d changes got through, %d were stale", len(wins), stale)
	}
	last := r.entries()[0]
	if got := r.Snapshot().Policies[0].Digest; got != last.Digest || r.Snapshot().Revision != uint64(1+admins*rounds) {
		t.Errorf("%s is in force, the history ends with %s", got, last.Digest)
	}
	want := r.mark()
	r.stop()
	if r = begin(t, Options{Dir: dir}); r.mark() != want {
		t.Errorf("after a restart %d decides, before %d did", r.mark(), want)
	}
}

// All operations at once, without IfMatch: whatever happens, the history is one line and the host agrees with it.
func TestHammerAllOperations(t *testing.T) {
	dir := t.TempDir()
	r := begin(t, Options{Dir: dir}, policy("p", 1), policy("q", 2))
	stop := r.loop()
	var wg sync.WaitGroup
	for a := range 4 {
		wg.Go(func() {
			name := []string{"p", "q"}[a%2]
			for n := range 6 {
				req := Request{Name: name, Wasm: guesttest.Admitter(int32(10 + a*6 + n)), By: ada}
				for _, do := range []func() (Result, error){
					func() (Result, error) { return r.Push(background, req) },
					func() (Result, error) { return r.Disable(background, name, ada) },
					func() (Result, error) { return r.Enable(background, name, ada) },
					func() (Result, error) { return r.Shadow(background, req) },
					func() (Result, error) { return r.Promote(background, name, ada) },
					func() (Result, error) { return r.SafeMode(background, n%2 == 0, ada) },
					func() (Result, error) { return r.Rollback(background, name, ada) },
					func() (Result, error) { return r.Push(background, Request{Name: name, Wasm: []byte("junk"), By: ada}) },
				} {
					_, err := do()
					var refused *plugins.RefusedError
					if err != nil && !errors.As(err, &refused) && !errors.Is(err, plugins.ErrUnknown) && !errors.Is(err, plugins.ErrNoShadow) {
						t.Error(err)
					}
					r.Snapshot()
				}
			}
		})
	}
	wg.Wait()
	stop()
	r.entries()
	if set, err := r.project(""); err != nil || !same(set, r.set) {
		t.Errorf("the set that is recorded is not the one in force: %v", err)
	}
	want, names := r.mark(), r.names()
	r.stop()
	r = begin(t, Options{Dir: dir}, policy("p", 1), policy("q", 2))
	if r.mark() != want || r.names() != names {
		t.Errorf("after a restart %d decides with %s, before %d did with %s", r.mark(), r.names(), want, names)
	}
}

// A client that goes away while its module waits for the loop has changed nothing.
func TestAClientThatGoesAway(t *testing.T) {
	r := begin(t, Options{Dir: t.TempDir()})
	r.push("p", 1)
	r.h.Swap(5_000_000_000) // the loop has begun, and stands still
	ctx, cancel := context.WithCancel(background)
	done := make(chan error)
	go func() {
		_, err := r.Push(ctx, Request{Name: "p", Wasm: guesttest.Admitter(2), By: ada})
		done <- err
	}()
	for len(r.changing) == 0 { // until it holds the place for a change
		time.Sleep(time.Millisecond)
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
	if r.mark() != 1 || r.Snapshot().Revision != 2 {
		t.Errorf("%d decides at revision %d", r.mark(), r.Snapshot().Revision)
	}
	if r.push("p", 3); r.mark() != 3 {
		t.Errorf("then %d decides", r.mark())
	}
}

// Whoever switches safe mode on does not wait for a push that waits for the loop, only for the loop itself.
func TestSafeModeDoesNotWaitForAChange(t *testing.T) {
	r := begin(t, Options{})
	r.push("p", 1)
	r.changing <- struct{}{} // somebody's change takes long
	stop := r.loop()
	done := make(chan error)
	go func() {
		_, err := r.SafeMode(background, true, ada)
		done <- err
	}()
	r.eventually("safe mode", func() bool { return r.Snapshot().SafeMode })
	r.release()
	if err := <-done; err != nil {
		t.Error(err)
	}
	stop()
	if e := r.entries()[0]; e.Op != "safe_on" {
		t.Errorf("%+v", e)
	}
}
