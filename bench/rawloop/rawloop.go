// Package rawloop is llama.cpp's own batch decode in the plainest loop there is: one llama_decode a step with one row
// for each stream, the most likely token of each, and on. It is the peer that the engine is measured against.
//
// It is not a way to serve: no queue, no sampling, no checks, and all streams start and end together.
//
//	loop, err := rawloop.Open(llama.Options{LibDir: libs, ModelPath: model, Device: "cpu"})
//	defer loop.Close()
//	r, err := loop.Decode(8, 32, 128)
//	fmt.Println(r.Streams, r.PerSecond())
//
// It opens the model with the settings that gpu/llama uses for the same Options, so the difference between the two is
// what Sluice adds. Both may be open in one process. A Loop belongs to one goroutine.
package rawloop

import (
	"fmt"
	"time"

	capi "github.com/hybridgroup/yzma/pkg/llama"

	"github.com/sluice-dev/sluice/gpu"
	"github.com/sluice-dev/sluice/gpu/llama"
)

// text is what the prompts are cut from; each stream starts at another word of it.
const text = `The harbour was quiet when the first boat came in. Two men tied it to the wall and carried the boxes up the stairs,
one after the other, without a word. From the window of the small office above the market a girl watched them and wrote down
a number for every box. When the sun stood over the roofs she had filled a page, and the smell of bread came from the street.
Later that day a letter arrived. It had been sent from a town far in the north, where the rivers freeze in October and people
walk over them to school. Nobody in the office could read the name of the sender, so they put it on the shelf beside the clock.`

// Result is one measurement.
type Result struct {
	Streams int
	Tokens  int           // tokens that were computed in Elapsed, of all streams
	Steps   int           // calls of llama_decode
	Elapsed time.Duration // wall time of the steps: the library, the choice of tokens, and the loop
	Library time.Duration // of that, inside llama_decode and until its results were there
	Output  [][]gpu.Token // what each stream generated; nil for Prefill
}

// PerSecond is the tokens per second of all streams together.
func (r Result) PerSecond() float64 { return float64(r.Tokens) / r.Elapsed.Seconds() }

// Loop is an open model.
type Loop struct {
	ctx   *llama.Context
	batch capi.Batch
	words []gpu.Token
}

// Open opens the model. Errors wrap llama.ErrUsage when the options are to blame.
func Open(o llama.Options) (*Loop, error) {
	ctx, err := llama.OpenContext(o)
	if err != nil {
		return nil, err
	}
	l := &Loop{ctx: ctx, batch: capi.BatchInit(int32(ctx.Info.MaxBatchTokens), 0, 1)}
	for _, t := range capi.Tokenize(ctx.Vocab, text, false, false) {
		l.words = append(l.words, gpu.Token(t))
	}
	return l, nil
}

// Info says what was opened.
func (l *Loop) Info() gpu.Info { return l.ctx.Info }

// Close frees the model. It is called once.
func (l *Loop) Close() {
	l.ctx.Close()
	_ = capi.BatchFree(l.batch)
}

// Prompt is the prompt of a stream: tokens tokens of running text.
func (l *Loop) Prompt(stream, tokens int) []gpu.Token {
	out := make([]gpu.Token, tokens)
	for i := range out {
		out[i] = l.words[(stream*7+i)%len(l.words)]
	}
	return out
}

// Decode computes prompts of prompt tokens for the streams, then measures output steps in which each stream gets one more.
func (l *Loop) Decode(streams, prompt, output int) (Result, error) {
	info := l.ctx.Info
	if streams < 1 || streams > info.MaxSeqs || prompt < 1 || prompt > info.MaxBatchTokens || output < 1 ||
		prompt+output > info.ContextTokens || streams*(prompt+output) > info.KVTokens {
		return Result{}, fmt.Errorf("%d streams of %d + %d tokens do not fit: %+v", streams, prompt, output, info)
	}
	defer l.clear()
	next := make([]gpu.Token, streams)
	for s := range streams {
		if err := l.prompt(s, l.Prompt(s, prompt)); err != nil {
			return Result{}, err
		}
		next[s] = l.best(prompt - 1)
	}
	r := Result{Streams: streams, Output: make([][]gpu.Token, streams)}
	start := time.Now()
	for step := range output {
		l.batch.NTokens = 0
		for s, t := range next {
			l.put(t, prompt+step, s, true)
			r.Output[s] = append(r.Output[s], t)
		}
		if err := l.timed(&r); err != nil {
			return r, err
		}
		for s := range next {
			next[s] = l.best(s)
		}
	}
	r.Elapsed, r.Tokens = time.Since(start), streams*output
	return r, nil
}

// Prefill measures one prompt of that many tokens, in batches as large as the options allow.
func (l *Loop) Prefill(tokens int) (Result, error) {
	info := l.ctx.Info
	if tokens < 1 || tokens > info.ContextTokens || tokens > info.KVTokens {
		return Result{}, fmt.Errorf("a prompt of %d tokens does not fit: %+v", tokens, info)
	}
	defer l.clear()
	all := l.Prompt(0, tokens)
	r := Result{Streams: 1, Tokens: tokens}
	start := time.Now()
	for at := 0; at < tokens; {
		l.batch.NTokens = 0
		for ; at < tokens && int(l.batch.NTokens) < info.MaxBatchTokens; at++ {
			l.put(all[at], at, 0, at == tokens-1)
		}
		if err := l.timed(&r); err != nil {
			return r, err
		}
	}
	r.Elapsed = time.Since(start)
	return r, nil
}

func (l *Loop) prompt(seq int, tokens []gpu.Token) error {
	l.batch.NTokens = 0
	for i, t := range tokens {
		l.put(t, i, seq, i == len(tokens)-1)
	}
	return l.timed(new(Result))
}

func (l *Loop) put(t gpu.Token, pos, seq int, keep bool) {
	_ = l.batch.Add(capi.Token(t), capi.Pos(pos), []capi.SeqId{capi.SeqId(seq)}, keep)
}

// timed computes the batch. A GPU works on after llama_decode has returned, so it waits for that too.
func (l *Loop) timed(r *Result) error {
	start := time.Now()
	rc, err := capi.Decode(l.ctx.Handle, l.batch)
	if err != nil || rc != 0 {
		return fmt.Errorf("llama_decode of %d tokens: code %d, %v", l.batch.NTokens, rc, err)
	}
	if err := capi.Synchronize(l.ctx.Handle); err != nil {
		return err
	}
	r.Library += time.Since(start)
	r.Steps++
	return nil
}

// best is the most likely token of a row of the batch, the lowest one among equals.
func (l *Loop) best(row int) gpu.Token {
	logits, err := capi.GetLogitsIth(l.ctx.Handle, int32(row), l.ctx.Info.VocabSize)
	if err != nil || logits == nil {
		panic(fmt.Sprintf("BUG: row %d has no logits: %v", row, err))
	}
	at, top := 0, logits[0]
	for i, x := range logits {
		if x > top {
			at, top = i, x
		}
	}
	return gpu.Token(at)
}

func (l *Loop) clear() { _ = capi.MemoryClear(l.ctx.Memory, false) }
