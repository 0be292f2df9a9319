package meter

import (
	"context"
	"fmt"
	"testing"

	"github.com/tetratelabs/wazero"
	"pgregory.net/rapid"

	"github.com/sluice-dev/sluice/plugins/internal/program"
)

// FuzzRewrite: no input makes the rewriter panic, and it makes no valid module invalid and no invalid one valid.
func FuzzRewrite(f *testing.F) {
	for _, wasm := range endless {
		f.Add(wasm)
	}
	f.Add(withStart(0x01))
	f.Add(guestGlobals(noLocals, opGlobalGet, 1, 0x1a))
	f.Add(guestGlobals(noLocals, opGlobalGet, 2, 0x1a))
	gen := rapid.Custom(program.Build)
	for seed := range 20 {
		f.Add(gen.Example(seed))
	}
	rt := newRuntime(f, wazero.NewRuntimeConfigInterpreter())
	f.Fuzz(func(t *testing.T, wasm []byte) {
		lim := testLimits()
		lim.MaxBytes, lim.MaxTableElements = 1<<16, 1000
		m, err := Rewrite(wasm, lim)
		if err != nil {
			if _, ok := err.(*Error); !ok || m != nil {
				t.Fatalf("refused with %T, %v", err, m)
			}
			return
		}
		if again, err := Rewrite(wasm, lim); err != nil || string(again.Code) != string(m.Code) {
			t.Fatalf("rewritten twice, the outputs differ: %v", err)
		}
		original, rewritten := accepts(rt, stripCustom(wasm)), accepts(rt, m.Code)
		if original != nil && rewritten == nil || original == nil && rewritten != nil {
			t.Fatalf("original: %v\nrewritten: %v\n%x\n%x", original, rewritten, wasm, m.Code)
		}
		// A rewritten module is refused: the name of its counter is taken.
		if _, err := Rewrite(m.Code, lim); err == nil {
			t.Fatalf("rewritten again")
		}
	})
}

// accepts returns why the runtime refuses a module, and nil when it does not. A panic of its own is a refusal.
func accepts(rt wazero.Runtime, wasm []byte) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the runtime panics: %v", p)
		}
	}()
	c, err := rt.CompileModule(context.Background(), wasm)
	if err == nil {
		c.Close(context.Background())
	}
	return err
}

// stripCustom drops the custom sections, as the rewriter does: a runtime may find fault with those.
func stripCustom(wasm []byte) []byte {
	out := append([]byte(nil), wasm[:8]...)
	r := &reader{buf: wasm, pos: 8, end: len(wasm)}
	for r.remaining() > 0 {
		at := r.pos
		id := r.byte()
		if r.bytes(r.u32()); id != secCustom {
			out = append(out, wasm[at:r.pos]...)
		}
	}
	return out
}
