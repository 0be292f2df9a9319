package llama

import (
	"errors"
	"fmt"
	"runtime"
	"slices"

	capi "github.com/hybridgroup/yzma/pkg/llama"

	"github.com/sluice-dev/sluice/gpu"
)

// bareCall is what happens to wrong arguments without this package's checks. harm runs in a process of its own, on a context
// that nothing guards: it ends the process, or returns what went wrong without an error. guarded is the same through the API,
// here: it must answer with an error.
type bareCall struct {
	name    string
	layout  string // of the context
	wrong   bool   // harm returns; else the process ends
	race    bool   // it may do either
	harm    func(c *Context) string
	guarded func(d *Device) error
}

func forwardError(d *Device, items ...gpu.Item) error {
	return d.Forward(&gpu.Batch{Items: items})
}

// decodeRaw puts one row for each triple of token, position and sequence into a batch, and has llama.cpp compute it.
func decodeRaw(c *Context, rows ...[3]int) (int32, error) {
	b := newBatch(max(len(rows), 1))
	for _, r := range rows {
		b.put(gpu.Token(r[0]), r[1], r[2], true)
	}
	return capi.Decode(c.Handle, b.c)
}

func rawRow(c *Context, i int) []float32 {
	l, err := capi.GetLogitsIth(c.Handle, int32(i), c.Info.VocabSize)
	if err != nil || l == nil {
		return nil
	}
	return slices.Clone(l)
}

func accepted(what string, rc int32, err error) string {
	if rc != 0 || err != nil {
		return ""
	}
	return what
}

var bareCalls = []bareCall{
	{
		name: "more tokens than a batch holds",
		harm: func(c *Context) string {
			rows := make([][3]int, capi.NBatch(c.Handle)+1)
			for i := range rows {
				rows[i] = [3]int{7, i, 0}
			}
			rc, err := decodeRaw(c, rows...)
			return fmt.Sprint(rc, err)
		},
		guarded: func(d *Device) error {
			return forwardError(d, gpu.Item{Seq: 0, Tokens: running(1, d.Info().MaxBatchTokens+1)})
		},
	},
	{
		name: "a negative number of tokens",
		harm: func(c *Context) string {
			b := newBatch(1)
			b.c.NTokens = -1
			rc, err := capi.Decode(c.Handle, b.c)
			return fmt.Sprint(rc, err)
		},
		guarded: func(d *Device) error { return forwardError(d, gpu.Item{Seq: 0}) },
	},
	{
		name: "a batch smaller than the number of sequences",
		harm: func(c *Context) string {
			p := c.params(KVF16)
			p.NCtx, p.NBatch, p.NUbatch, p.NSeqMax = 16, 16, 16, 64
			_, err := capi.InitFromModel(c.Model, p)
			return fmt.Sprint(err)
		},
		guarded: func(d *Device) error {
			o := d.ctx.opts
			o.MaxSeqs, o.MaxBatchTokens, o.KVTokens, o.ContextTokens = 64, 16, 256, 0
			_, err := Open(o)
			return err
		},
	},
	{
		name: "a cut of a sequence beyond the last",
		harm: func(c *Context) string {
			ok, err := capi.MemorySeqRm(c.Memory, 300, 0, -1)
			return fmt.Sprint(ok, err)
		},
		guarded: func(d *Device) error { return d.Trim(300, 0) },
	},
	{
		name: "a cut of sequence -2",
		harm: func(c *Context) string {
			ok, err := capi.MemorySeqRm(c.Memory, -2, 0, -1)
			return fmt.Sprint(ok, err)
		},
		guarded: func(d *Device) error { return d.Trim(-2, 0) },
	},
	{
		name: "a look at a sequence beyond the last",
		harm: func(c *Context) string {
			last, err := capi.MemorySeqPosMax(c.Memory, 300)
			return fmt.Sprint(last, err)
		},
		guarded: func(d *Device) error {
			s, err := d.Save(0)
			if err != nil {
				return nil
			}
			return d.Restore(300, s) // the one call that looks
		},
	},
	{
		name: "a copy to a sequence beyond the last", layout: LayoutSplit,
		harm: func(c *Context) string {
			return fmt.Sprint(capi.MemorySeqCp(c.Memory, 0, capi.SeqId(c.Info.MaxSeqs), -1, -1))
		},
		guarded: func(d *Device) error { return d.Copy(0, d.Info().MaxSeqs, 1) },
	},
	{
		name: "a copy of a part between two parts of a cache", layout: LayoutSplit,
		harm: func(c *Context) string {
			rc, err := decodeRaw(c, [3]int{7, 0, 0}, [3]int{8, 1, 0}, [3]int{9, 2, 0})
			return fmt.Sprint(rc, err, capi.MemorySeqCp(c.Memory, 0, 1, 0, 2))
		},
		// It is done another way: refused is what is not there.
		guarded: func(d *Device) error { return d.Copy(0, 1, 1000) },
	},
	{
		name: "a state for a sequence beyond the last", layout: LayoutSplit,
		harm: func(c *Context) string {
			rc, err := decodeRaw(c, [3]int{7, 0, 0})
			buf := make([]byte, capi.StateSeqGetSize(c.Handle, 0))
			capi.StateSeqGetData(c.Handle, buf, 0)
			return fmt.Sprint(rc, err, capi.StateSeqSetData(c.Handle, buf, 300))
		},
		guarded: func(d *Device) error {
			s, err := d.Save(0)
			if err != nil {
				return nil
			}
			return d.Restore(300, s)
		},
	},
	{
		name: "a token of no sequence",
		harm: func(c *Context) string {
			b := newBatch(1)
			b.put(7, 0, 0, true)
			*b.c.NSeqId = 0
			rc, err := capi.Decode(c.Handle, b.c)
			return fmt.Sprint(rc, err)
		},
		guarded: func(d *Device) error { return forwardError(d, gpu.Item{Seq: -1, Tokens: running(1, 1)}) },
	},
	{
		name: "a NUL byte in a text",
		harm: func(c *Context) string {
			return fmt.Sprint(capi.Tokenize(c.Vocab, "a\x00b", false, false))
		},
		guarded: func(d *Device) error {
			_, err := d.Tokenizer().Encode("a\x00b", false)
			return err
		},
	},
	{
		name: "a token beyond the vocabulary spelt",
		harm: func(c *Context) string {
			return capi.Detokenize(c.Vocab, []capi.Token{capi.Token(c.Info.VocabSize)}, false, true)
		},
		guarded: func(d *Device) error {
			if d.Tokenizer().Piece(gpu.Token(d.Info().VocabSize)) == nil {
				return errors.New("it has no piece")
			}
			return nil
		},
	},
	{
		name: "a step after the model is freed",
		harm: func(c *Context) string {
			_ = capi.ModelFree(c.Model)
			rc, err := decodeRaw(c, [3]int{7, 0, 0})
			return fmt.Sprint(rc, err)
		},
		guarded: func(d *Device) error {
			return afterClose(d, func(d *Device) error { return forwardError(d, gpu.Item{Tokens: running(1, 1)}) })
		},
	},
	{
		name: "freed twice",
		harm: func(c *Context) string {
			return fmt.Sprint(capi.Free(c.Handle), capi.Free(c.Handle))
		},
		guarded: func(d *Device) error {
			return afterClose(d, func(d *Device) error { return errors.Join(d.Close(), d.Trim(0, 0)) })
		},
	},
	{
		name: "two steps at once", race: true,
		harm: func(c *Context) string {
			rows := [2][3][3]int{{{700, 0, 0}, {800, 1, 0}, {900, 2, 0}}, {{701, 0, 1}, {801, 1, 1}, {901, 2, 1}}}
			round := func(g int) []float32 {
				rc, err := decodeRaw(c, rows[g][:]...)
				_, _ = capi.MemorySeqRm(c.Memory, capi.SeqId(g), -1, -1)
				if rc != 0 || err != nil {
					return nil
				}
				return rawRow(c, 2)
			}
			want := [2][]float32{round(0), round(1)}
			wrong := make(chan int)
			for g := range 2 {
				go func() {
					runtime.LockOSThread()
					n := 0
					for range 100 {
						if !slices.Equal(round(g), want[g]) {
							n++
						}
					}
					wrong <- n
				}()
			}
			if n := <-wrong + <-wrong; n > 0 {
				return fmt.Sprintf("%d of 200 steps fail or give another's logits", n)
			}
			return ""
		},
		guarded: func(d *Device) error {
			done := make(chan error)
			for g := range 2 {
				go func() {
					for i := range 5 {
						if err := forwardError(d, gpu.Item{Seq: 2 + g, Pos: i, Tokens: running(1, 1)}); err != nil {
							done <- nil
							return
						}
					}
					done <- errors.New("they wait for each other")
				}()
			}
			return errors.Join(<-done, <-done)
		},
	},
	{
		name: "a negative first position", wrong: true,
		harm: func(c *Context) string {
			rc, err := decodeRaw(c, [3]int{7, -1, 0})
			return accepted("it is computed", rc, err)
		},
		guarded: func(d *Device) error { return forwardError(d, gpu.Item{Seq: 1, Pos: -1, Tokens: running(1, 1)}) },
	},
	{
		name: "a first position beyond the context", wrong: true,
		harm: func(c *Context) string {
			rc, err := decodeRaw(c, [3]int{7, 1 << 20, 0})
			return accepted("it is computed", rc, err)
		},
		guarded: func(d *Device) error { return forwardError(d, gpu.Item{Seq: 1, Pos: 1 << 20, Tokens: running(1, 1)}) },
	},
	{
		name: "a position twice", wrong: true,
		harm: func(c *Context) string {
			rc, err := decodeRaw(c, [3]int{7, 0, 0}, [3]int{9, 0, 0})
			return accepted("both are computed", rc, err)
		},
		guarded: func(d *Device) error {
			return forwardError(d, gpu.Item{Seq: 1, Tokens: running(1, 1)}, gpu.Item{Seq: 1, Tokens: running(2, 1)})
		},
	},
	{
		name: "a sequence that the cache was not made for", wrong: true,
		harm: func(c *Context) string {
			rc, err := decodeRaw(c, [3]int{7, 0, 255})
			return accepted("it is computed", rc, err)
		},
		guarded: func(d *Device) error { return forwardError(d, gpu.Item{Seq: 255, Tokens: running(1, 1)}) },
	},
	{
		name: "a save of such a sequence", wrong: true,
		harm: func(c *Context) string {
			rc, err := decodeRaw(c, [3]int{7, 0, 255})
			buf := make([]byte, capi.StateSeqGetSize(c.Handle, 255))
			got := capi.StateSeqGetData(c.Handle, buf, 255)
			if rc == 0 && err == nil && got > 0 && capi.StateSeqSetData(c.Handle, buf, 1) == 0 {
				return fmt.Sprintf("it gives %d bytes, which are refused when they are needed", got)
			}
			return ""
		},
		guarded: func(d *Device) error {
			_, err := d.Save(255)
			return err
		},
	},
	{
		name: "a copy onto what holds something", wrong: true,
		harm: func(c *Context) string {
			rc, err := decodeRaw(c, [3]int{7, 0, 0}, [3]int{8, 0, 1}, [3]int{9, 1, 1})
			_ = capi.MemorySeqCp(c.Memory, 0, 1, 0, 1)
			last, _ := capi.MemorySeqPosMax(c.Memory, 1)
			if last == 1 {
				return accepted("it holds the tokens of both", rc, err)
			}
			return ""
		},
		guarded: func(d *Device) error {
			return errors.Join(forwardError(d, gpu.Item{Seq: 1, Tokens: running(1, 2)}), d.Copy(0, 1, 1))
		},
	},
	{
		name: "a save right after a copy between two parts", layout: LayoutSplit, wrong: true,
		harm: func(c *Context) string {
			_, _ = decodeRaw(c, [3]int{700, 0, 0}, [3]int{800, 1, 0}, [3]int{900, 2, 0})
			_ = capi.MemorySeqCp(c.Memory, 0, 1, -1, -1)
			buf := make([]byte, capi.StateSeqGetSize(c.Handle, 1))
			capi.StateSeqGetData(c.Handle, buf, 1)
			if capi.StateSeqSetData(c.Handle, buf, 2) == 0 {
				return ""
			}
			_, _ = decodeRaw(c, [3]int{901, 3, 0})
			want := rawRow(c, 0)
			rc, err := decodeRaw(c, [3]int{901, 3, 2})
			if slices.Equal(rawRow(c, 0), want) {
				return ""
			}
			return accepted("it has the positions, and not the keys and values", rc, err)
		},
		guarded: func(d *Device) error {
			n := d.kv.length(0)
			if err := d.Copy(0, 1, n); err != nil {
				return nil
			}
			saved, err := d.Save(1)
			if err != nil || d.Restore(2, saved) != nil {
				return nil
			}
			next := running(1, 1)
			if forwardError(d, gpu.Item{Seq: 1, Pos: n, Tokens: next, Logits: 1}, gpu.Item{Seq: 2, Pos: n, Tokens: next, Logits: 1}) != nil {
				return nil
			}
			a, _ := d.Logits(0, 0)
			b, _ := d.Logits(1, 0)
			if slices.Equal(a, b) {
				return errors.New("the copy is made at once")
			}
			return nil
		},
	},
	{
		name: "logits before the first step", wrong: true,
		harm: func(c *Context) string {
			if l, err := capi.GetLogits(c.Handle, 1, c.Info.VocabSize); err == nil && l != nil {
				return fmt.Sprint("there are some: ", l[0])
			}
			return ""
		},
		guarded: func(d *Device) error {
			_, err := d.Logits(0, 0)
			return err
		},
	},
	{
		name: "a saved sequence with one bit turned", wrong: true,
		harm: func(c *Context) string {
			_, _ = decodeRaw(c, [3]int{700, 0, 0}, [3]int{800, 1, 0}, [3]int{900, 2, 0})
			_, _ = decodeRaw(c, [3]int{901, 3, 0})
			want := rawRow(c, 0)
			_, _ = capi.MemorySeqRm(c.Memory, 0, 3, -1)
			buf := make([]byte, capi.StateSeqGetSize(c.Handle, 0))
			capi.StateSeqGetData(c.Handle, buf, 0)
			buf[len(buf)/4] ^= 1 << 6
			if capi.StateSeqSetData(c.Handle, buf, 1) == 0 {
				return ""
			}
			rc, err := decodeRaw(c, [3]int{901, 3, 1})
			if slices.Equal(rawRow(c, 0), want) {
				return ""
			}
			return accepted("it is restored, and computes something else", rc, err)
		},
		guarded: func(d *Device) error {
			s, err := d.Save(0)
			if err != nil {
				return nil
			}
			s.Data[len(s.Data)/4] ^= 1 << 6
			return d.Restore(3, s)
		},
	},
}

// afterClose closes a device of its own and calls f on it.
func afterClose(d *Device, f func(*Device) error) error {
	other, err := Open(d.ctx.opts)
	if err != nil {
		return nil
	}
	_ = other.Close()
	return f(other)
}
