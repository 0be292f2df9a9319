package server

import (
	"testing"

	"github.com/sluice-dev/sluice/host/engine"
)

// The stream path writes a chunk into memory that it has.
func TestAChunkAllocatesNothing(t *testing.T) {
	for _, f := range []form{chatForm, textForm} {
		b := &body{call: &call{s: decoder(), form: f, id: "id", usage: true, running: true, choices: make([]choice, 1)}}
		c, ev := &b.choices[0], engine.Event{Text: "some \"text\" with é and \n"}
		b.chunk(c, &ev, "")
		n := testing.AllocsPerRun(100, func() {
			b.buf = b.buf[:0]
			b.chunk(c, &ev, "")
		})
		if n != 0 {
			t.Errorf("%s: %v allocations a chunk", f.chunk, n)
		}
	}
}
