package sched_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/sluice-dev/sluice/gpu"
	"github.com/sluice-dev/sluice/gpu/sim"
	"github.com/sluice-dev/sluice/host/sched"
	"github.com/sluice-dev/sluice/plugins/abi"
)

// fataler is what a test and a drawn case have in common.
type fataler interface {
	Helper()
	Fatal(...any)
	Fatalf(string, ...any)
}

var errInjected = errors.New("injected")

// rig is a Core with a simulated device: it does what an engine does, with greedy decoding, and looks after each operation
// whether the device holds what the scheduler says.
type rig struct {
	fataler
	core    *sched.Core
	dev     *sim.Device
	now     int64
	cached  bool // hashes are given
	texts   map[uint64][]gpu.Token
	prompts map[uint64]int
	saved   map[uint64]*gpu.Saved
	outputs map[uint64][]gpu.Token // of ended requests
	ended   map[uint64]*sched.Request
	ops     map[sched.OpKind]int
	watch   func(*sched.Batch) // sees each step before it is computed
	faults
}

// faults are what goes wrong; nil = nothing. Each is asked when it may.
type faults struct {
	op, save, forward func() bool
	row               func() bool
	lost              func(id uint64) bool               // the device does not have what it should
	stop              func() bool                        // the model is done
	draft             func(id uint64, k int) []gpu.Token // guesses
}

func newRig(t fataler, cfg sched.Config, policy abi.Decider) *rig {
	t.Helper()
	core, err := sched.New(cfg, policy)
	if err != nil {
		t.Fatal(err)
	}
	g := &rig{fataler: t, core: core, now: 1e6, cached: true, texts: map[uint64][]gpu.Token{}, prompts: map[uint64]int{},
		outputs: map[uint64][]gpu.Token{}, ended: map[uint64]*sched.Request{}, ops: map[sched.OpKind]int{}}
	g.reopen()
	return g
}

// reopen is a device that holds nothing.
func (g *rig) reopen() {
	cfg := g.core.Config()
	p, err := sim.ParseProfile(sim.CPUProfile)
	if err != nil {
		g.Fatal(err)
	}
	g.dev = sim.Open(p, sim.Options{KVTokens: cfg.Blocks * cfg.BlockSize, MaxSeqs: cfg.MaxSeqs, MaxBatchTokens: cfg.MaxBatchTokens,
		ContextTokens: cfg.ContextTokens, SpareSeqs: cfg.SpareSeqs, CopyMin: cfg.CopyMin, SharedKV: cfg.SharedKV, CanSave: cfg.MaxSaved > 0})
	g.saved = map[uint64]*gpu.Saved{}
}

func (g *rig) arrive(r *sched.Request, prompt []gpu.Token) {
	r.PromptTokens, r.Arrival = len(prompt), g.now
	if g.cached {
		r.Hashes = chain(nil, prompt, g.core.Config().BlockSize)
	}
	g.texts[r.ID], g.prompts[r.ID] = slices.Clone(prompt), len(prompt)
	g.core.Arrive(g.now, r)
	g.takeEnded()
}

// chain appends the hashes of the full blocks of text that done does not have.
func chain(done []uint64, text []gpu.Token, size int) []uint64 {
	for i := len(done); i < len(text)/size; i++ {
		h := uint64(14695981039346656037)
		if i > 0 {
			h = done[i-1]
		}
		for _, t := range text[i*size : (i+1)*size] {
			h = (h ^ uint64(t+1)) * 1099511628211
		}
		done = append(done, h)
	}
	return done
}

// step plans and computes one step, and reports whether there was one.
func (g *rig) step() bool {
	g.Helper()
	g.now += 10e6
	b := g.core.Plan(g.now)
	g.check()
	if b == nil {
		g.takeEnded()
		return false
	}
	err := g.apply(b)
	results := make([]sched.Result, len(b.Rows))
	var items []gpu.Item
	if err == nil {
		items = g.items(b, results)
		err = g.forwardPass(items)
	}
	item := 0
	for i := range b.Rows {
		switch {
		case err != nil:
			results[i] = sched.Result{Done: sched.OutcomeFailed}
		case results[i].Lost:
			continue
		case g.row != nil && g.row():
			results[i].Done = sched.OutcomeFailed
		case b.Rows[i].Sample:
			results[i] = g.sample(item, &b.Rows[i], items[item])
		}
		item++
	}
	if err == nil {
		g.checkHeld()
	}
	g.core.Complete(g.now, results)
	g.check()
	g.takeEnded()
	return true
}

// forwardPass fails only where it was told to: after it has computed.
func (g *rig) forwardPass(items []gpu.Item) error {
	if len(items) > 0 {
		if err := g.dev.Forward(&gpu.Batch{Items: items}); err != nil {
			g.Fatalf("the device refuses the step: %v", err)
		}
	}
	if g.forward != nil && g.forward() {
		return errInjected
	}
	return nil
}

func (g *rig) check() {
	g.Helper()
	if err := g.core.Check(); err != nil {
		g.Fatal(err)
	}
}

// apply does the step's operations.
func (g *rig) apply(b *sched.Batch) error {
	if g.watch != nil {
		g.watch(b)
	}
	for _, op := range b.Ops {
		if g.op != nil && g.op() {
			return errInjected
		}
		g.ops[op.Kind]++
		if err := g.move(op); err != nil {
			g.Fatalf("the device refuses %+v of %+v: %v", op, b.Ops, err)
		}
	}
	g.checkHeld()
	return nil
}

func (g *rig) move(op sched.Op) (err error) {
	switch op.Kind {
	case sched.OpTrim:
		return g.dev.Trim(op.Seq, op.Tokens)
	case sched.OpCopy:
		return g.dev.Copy(op.From, op.Seq, op.Tokens)
	case sched.OpSave:
		if g.save != nil && g.save() {
			g.core.ForgetSaved(op.ID)
			return nil
		}
		g.saved[op.ID], err = g.dev.Save(op.Seq)
	case sched.OpRestore:
		err = g.dev.Restore(op.Seq, g.saved[op.ID])
		if !op.Keep {
			delete(g.saved, op.ID)
		}
	case sched.OpForget:
		delete(g.saved, op.ID)
	}
	return err
}

// checkHeld compares what the device holds with the scheduler's account.
func (g *rig) checkHeld() {
	g.Helper()
	size := g.core.Config().BlockSize
	if held, counted := g.dev.Held(), (g.core.BlocksUsed()+g.core.BlocksCached())*size; held > counted {
		g.Fatalf("the device holds %d tokens, the scheduler counts %d", held, counted)
	}
	tokens := 0
	for _, s := range g.saved {
		tokens += s.Tokens
	}
	if tokens > g.core.Config().MaxSaved {
		g.Fatalf("%d tokens are saved, at most %d may be", tokens, g.core.Config().MaxSaved)
	}
}

// items is the batch for the device. Each row's sequence must hold the row's own tokens, from whomever it has them.
func (g *rig) items(b *sched.Batch, results []sched.Result) (items []gpu.Item) {
	for i, row := range b.Rows {
		if results[i].Lost = g.lost != nil && g.lost(row.Req.ID); results[i].Lost {
			continue
		}
		text := g.texts[row.Req.ID]
		if got := g.dev.History(row.Seq); !slices.Equal(got, text[:row.Start]) {
			g.Fatalf("step %d: sequence %d of request %d holds %v, not the first %d of %v", b.Step, row.Seq, row.Req.ID, got, row.Start, text)
		}
		it := gpu.Item{Seq: row.Seq, Pos: row.Start, Tokens: slices.Clone(text[row.Start : row.Start+row.Tokens])}
		if row.Draft > 0 && g.draft != nil {
			it.Tokens = append(it.Tokens, g.draft(row.Req.ID, row.Draft)...)
		}
		if row.Sample {
			it.Logits = 1 + len(it.Tokens) - row.Tokens
		}
		items = append(items, it)
	}
	return items
}

// sample draws greedily, accepts the drafts that are right, and makes the device forget the others.
func (g *rig) sample(i int, row *sched.Row, it gpu.Item) (res sched.Result) {
	id, cfg := row.Req.ID, g.core.Config()
	before := len(g.texts[id])
	draft := it.Tokens[row.Tokens:]
	res.Drafted = len(draft)
	for k := 0; ; k++ {
		next := g.argmax(i, k)
		g.texts[id] = append(g.texts[id], next)
		res.Emitted++
		if g.stop != nil && g.stop() {
			res.Done = sched.OutcomeCompleted
		}
		if k == len(draft) || next != draft[k] || res.Done != 0 {
			break
		}
	}
	if err := g.dev.Trim(row.Seq, row.Start+row.Tokens+res.Emitted-1); err != nil {
		g.Fatal(err)
	}
	if g.draft != nil {
		res.Available = cfg.MaxDraft
	}
	if g.cached {
		res.Hashes = chain(nil, g.texts[id], cfg.BlockSize)[before/cfg.BlockSize:]
	}
	return res
}

func (g *rig) argmax(item, i int) gpu.Token {
	logits, err := g.dev.Logits(item, i)
	if err != nil {
		g.Fatal(err)
	}
	best := 0
	for t, v := range logits {
		if v > logits[best] {
			best = t
		}
	}
	return gpu.Token(best)
}

func (g *rig) takeEnded() {
	for _, r := range g.core.TakeEnded() {
		g.ended[r.ID] = r
		g.outputs[r.ID] = g.texts[r.ID][g.prompts[r.ID]:]
		delete(g.texts, r.ID)
	}
}

// run steps until nothing is left.
func (g *rig) run() {
	g.Helper()
	for i := 0; !g.core.Idle(); i++ {
		if i > 10_000 {
			g.Fatalf("no end: %d wait, %d run", g.core.Waiting(), g.core.Running())
		}
		g.core.Tick(g.now)
		g.step()
	}
}

// alone is what a request's answer is on a device of its own.
func alone(t fataler, prompt []gpu.Token, n int) []gpu.Token {
	t.Helper()
	cfg := sched.DefaultConfig(1, 512, 512, 512)
	g := newRig(t, cfg, nil)
	g.cached = false
	g.arrive(&sched.Request{ID: 1, MaxTokens: n}, prompt)
	g.run()
	return g.outputs[1]
}

// tokens is n tokens that follow from seed.
func tokens(seed, n int) []gpu.Token {
	out := make([]gpu.Token, n)
	for i := range out {
		out[i] = gpu.Token('a' + (seed*7+i*(seed+3)+i*i)%26)
	}
	return out
}

func shared(prefix []gpu.Token, tail ...gpu.Token) []gpu.Token {
	return append(slices.Clone(prefix), tail...)
}

var _ fataler = (*testing.T)(nil)
