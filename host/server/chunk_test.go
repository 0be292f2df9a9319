package server

import "testing"

// The stream path writes a chunk into memory that it has.
func TestAChunkAllocatesNothing(t *testing.T) {
	for _, f := range []form{chatForm, textForm} {
		b := &body{call: &call{s: decoder(), form: f, id: "id", usage: true, running: true}}
		b.chunk("some text", "")
		n := testing.AllocsPerRun(100, func() {
			b.buf = b.buf[:0]
			b.chunk("some \"text\" with é and \n", "")
		})
		if n != 0 {
			t.Errorf("%s: %v allocations a chunk", f.chunk, n)
		}
	}
}
