package conformance

import (
	"bytes"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/sluice-dev/sluice/plugins/abi"
	"github.com/sluice-dev/sluice/policies/wasmtest"
	sluice "github.com/sluice-dev/sluice/sdk/go"
)

// compareAlone checks, without a host, that both modules say the same of settings, save the same bytes, and take and decline the
// same ones in the same words.
func compareAlone(t *testing.T, name string, s Settings, seed uint64, want, got []byte) {
	t.Helper()
	a, b := wasmtest.Compile(t, want), wasmtest.Compile(t, got)
	x, y := a.Start(t), b.Start(t)
	if x.Hooks() != y.Hooks() {
		t.Errorf("%s: it declares the hooks %b, and should %b", name, y.Hooks(), x.Hooks())
		return
	}
	if x.Hooks().Has(sluice.HookConfigure) {
		compareWords(t, name, s, seed, a.Start(t), b.Start(t))
	}
	if !x.Hooks().Has(sluice.HookState) {
		return
	}
	config := s.Taken[0]
	if e, f := x.Configure(config), y.Configure(config); e != nil || f != nil {
		t.Errorf("%s: %v is refused: %v, %v", name, config, e, f)
		return
	}
	draw := newTraffic(seed, 2000)
	for i := range 200 {
		step := draw.next()
		for _, g := range []*wasmtest.Guest{x, y} {
			show(g, step)
		}
		saved, also := bytes.Clone(x.Save()), bytes.Clone(y.Save())
		if !bytes.Equal(saved, also) {
			t.Errorf("%s: after step %d of %d it saves\n%v, and should save\n%v", name, i, seed, also, saved)
			return
		}
		if i%20 == 0 && !sameRestore(t, name, draw.rng, config, a.Start(t), b.Start(t), saved) {
			return
		}
	}
}

// sameRestore hands both the saved bytes, whole and broken.
func sameRestore(t *testing.T, name string, rng *rand.Rand, config map[string]string, x, y *wasmtest.Guest, saved []byte) bool {
	t.Helper()
	defer x.Close()
	defer y.Close()
	if x.Configure(config) != nil || y.Configure(config) != nil {
		t.Errorf("%s: %v is refused", name, config)
		return false
	}
	for range 20 {
		blob := bytes.Clone(saved)
		switch rng.IntN(5) {
		case 0:
		case 1:
			blob = blob[:rng.IntN(len(blob)+1)]
		case 2:
			blob = append(blob, byte(rng.Uint64()))
		case 3:
			blob = make([]byte, rng.IntN(40))
			fill(rng, blob)
		case 4:
			if len(blob) > 0 {
				blob[rng.IntN(len(blob))] = byte(rng.Uint64())
			}
		}
		before, beforeToo := len(x.Logs()), len(y.Logs())
		e, f := x.Restore(blob), y.Restore(blob)
		said, saidToo := x.Logs()[before:], y.Logs()[beforeToo:]
		if (e == nil) != (f == nil) || !sameLines(said, saidToo) {
			t.Errorf("%s: of the state %v it says %v %q, and should say %v %q", name, blob, f, saidToo, e, said)
			return false
		}
		if again, too := x.Save(), y.Save(); !bytes.Equal(again, too) {
			t.Errorf("%s: after the state %v it saves %v, and should save %v", name, blob, too, again)
			return false
		}
	}
	return true
}

func sameLines(a, b []string) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// show asks every hook but the state's.
func show(g *wasmtest.Guest, s *step) {
	st := (*sluice.State)(unsafe.Pointer(&s.st))
	rows := unsafe.Slice((*sluice.Row)(unsafe.Pointer(unsafe.SliceData(s.rows))), len(s.rows))
	events := unsafe.Slice((*sluice.Event)(unsafe.Pointer(unsafe.SliceData(s.events))), len(s.events))
	hooks := g.Hooks()
	if hooks.Has(sluice.HookEvents) {
		g.Events(st, events...)
	}
	if hooks.Has(sluice.HookAdmit) {
		g.Admit(st, rows...)
	}
	if hooks.Has(sluice.HookPrioritize) {
		g.Prioritize(st, rows...)
	}
	if hooks.Has(sluice.HookBatchCap) {
		g.BatchCap(st)
	}
	if hooks.Has(sluice.HookSpeculate) {
		g.Speculate(st, rows...)
	}
}

// Both packages have the same layouts, from the same schema.
var (
	_ = [1]struct{}{}[abi.StateSize-sluice.StateSize]
	_ = [1]struct{}{}[abi.RowSize-sluice.RowSize]
)
