package engine_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluice-dev/sluice/gpu"
	"github.com/sluice-dev/sluice/gpu/sim"
	"github.com/sluice-dev/sluice/host/engine"
	"github.com/sluice-dev/sluice/host/sched"
	"github.com/sluice-dev/sluice/host/spec"
	"github.com/sluice-dev/sluice/host/trace"
	"github.com/sluice-dev/sluice/plugins/abi"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fixedK is a policy that always drafts k tokens a row.
type fixedK struct{ k uint32 }

func (fixedK) Hooks() abi.Hook { return abi.HookSpeculate }

// Reads implements abi.Decider.
func (fixedK) Reads() abi.Group                                                     { return abi.All }
func (fixedK) Admit(*abi.State, []abi.Row, []abi.Verdict, []abi.PolicyID)           {}
func (fixedK) Prioritize(*abi.State, []abi.Row, []abi.Ranking) (bool, abi.PolicyID) { return false, 0 }
func (fixedK) BatchPlan(*abi.State, *abi.BatchPlan) (bool, abi.PolicyID)            { return false, 0 }
func (fixedK) Events(*abi.State, []abi.Event)                                       {}
func (p fixedK) Speculate(_ *abi.State, _ []abi.Row, out *abi.SpecPlan, _ []int32) (bool, abi.PolicyID) {
	out.K = p.k
	return true, 1
}

// source puts one set in charge from the first step on.
type source struct {
	d    abi.Decider
	once bool
}

func (s *source) Swap(int64) (abi.Decider, uint32, bool) {
	changed := !s.once
	s.once = true
	return s.d, 1, changed
}
func (s *source) Who(id abi.PolicyID) trace.Decider {
	if id == abi.Native {
		return trace.Decider{Policy: trace.NativeName}
	}
	return trace.Decider{Policy: "test", Digest: "digest"}
}

type fixture struct {
	*engine.Engine
	tok     gpu.Tokenizer
	mu      sync.Mutex
	records []trace.Record
}

func start(t *testing.T, opt sim.Options, change func(*engine.Config)) *fixture {
	t.Helper()
	profile, err := sim.ParseProfile(sim.CPUProfile)
	if err != nil {
		t.Fatal(err)
	}
	if opt.MaxSeqs == 0 {
		opt.MaxSeqs = 4
	}
	opt.KVTokens, opt.MaxBatchTokens, opt.ContextTokens = 2048, 64, 512
	f := &fixture{}
	cfg := engine.Config{
		Device: sim.Open(profile, opt), Tokenizer: sim.Tokenizer{},
		Sched:  sched.DefaultConfig(opt.MaxSeqs, 64, 512, 2048),
		Record: func(r trace.Record) { f.mu.Lock(); f.records = append(f.records, r); f.mu.Unlock() },
	}
	if change != nil {
		change(&cfg)
	}
	f.Engine, err = engine.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
		f.checkRecords(t)
	})
	return f
}

func (f *fixture) checkRecords(t *testing.T) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, r := range f.records {
		if err := r.Validate(); err != nil {
			t.Errorf("record of %s: %v", r.ID, err)
		}
	}
}

func prompt(s string) []gpu.Token {
	p, _ := sim.Tokenizer{}.Encode(s, false)
	return p
}

func (f *fixture) submit(t *testing.T, req engine.Request) *engine.Stream {
	t.Helper()
	s, err := f.Submit(req)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func read(s *engine.Stream) (text string, tokens int) {
	for ev := range s.Events() {
		text += ev.Text
		tokens += ev.Tokens
	}
	<-s.Done()
	return text, tokens
}

func TestTextIsTheSameAloneAndInAnyCompanyWithAnyK(t *testing.T) {
	for _, temperature := range []float64{0, 0.8} {
		want := map[string]string{}
		for _, k := range []uint32{0, 1, 4, 15} {
			f := start(t, sim.Options{}, func(c *engine.Config) {
				c.Sched.MaxDraft = 15
				c.Policies = &source{d: fixedK{k}}
			})
			var wg sync.WaitGroup
			var mu sync.Mutex
			for i := range 9 {
				text := strings.Repeat(fmt.Sprintf("say %d again ", i), 1+i)
				req := engine.Request{ID: fmt.Sprint(i), Prompt: prompt(text), MaxTokens: 60, IgnoreEOS: true,
					Sampling: spec.Params{Temperature: temperature, Seed: uint64(i)}}
				s := f.submit(t, req)
				wg.Go(func() {
					got, n := read(s)
					mu.Lock()
					defer mu.Unlock()
					if n != 60 || s.Result().Outcome != sched.OutcomeLength {
						t.Errorf("k=%d: %d tokens, %v", k, n, s.Result().Outcome)
					}
					if _, ok := want[req.ID]; !ok {
						want[req.ID] = got
					}
					if want[req.ID] != got {
						t.Errorf("k=%d, temperature %v, request %s: text differs:\n%q\n%q", k, temperature, req.ID, got, want[req.ID])
					}
				})
			}
			wg.Wait()
			snap, err := f.Snapshot(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			if k > 0 && snap.Stats.Drafted == 0 {
				t.Errorf("k=%d drafted nothing: the comparison says nothing", k)
			}
		}
	}
}

func TestAStopStringEndsTheTextBeforeIt(t *testing.T) {
	f := start(t, sim.Options{}, nil)
	whole, _ := read(f.submit(t, engine.Request{ID: "a", Prompt: prompt("hello hello hello"), MaxTokens: 80, IgnoreEOS: true}))
	stop := whole[20:24]
	s := f.submit(t, engine.Request{ID: "b", Prompt: prompt("hello hello hello"), MaxTokens: 80, IgnoreEOS: true, Stop: []string{stop}})
	got, n := read(s)
	if want := whole[:strings.Index(whole, stop)]; got != want || s.Result().Finish != "stop" || n != s.Result().OutputTokens {
		t.Errorf("got %q (%s, %d of %d tokens), want %q", got, s.Result().Finish, n, s.Result().OutputTokens, want)
	}
}

func TestAClientThatLeavesFreesItsPlace(t *testing.T) {
	f := start(t, sim.Options{MaxSeqs: 1, Wall: 1}, nil)
	running := f.submit(t, engine.Request{ID: "running", Prompt: prompt("x"), MaxTokens: 400, IgnoreEOS: true})
	queued := f.submit(t, engine.Request{ID: "queued", Prompt: prompt("y"), MaxTokens: 400, IgnoreEOS: true})
	<-running.Events()
	queued.Cancel()
	queued.Cancel()
	if <-queued.Done(); queued.Result().Outcome != sched.OutcomeCancelledInQueue {
		t.Errorf("queued ended as %v", queued.Result().Outcome)
	}
	running.Cancel()
	if <-running.Done(); running.Result().Outcome != sched.OutcomeCancelledRunning {
		t.Errorf("running ended as %v", running.Result().Outcome)
	}
	snap, err := f.Snapshot(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if snap.State.Running != 0 || snap.State.BlocksFree != snap.State.BlocksTotal {
		t.Errorf("%d run and %d of %d blocks are free", snap.State.Running, snap.State.BlocksFree, snap.State.BlocksTotal)
	}
	next, n := read(f.submit(t, engine.Request{ID: "next", Prompt: prompt("z"), MaxTokens: 3, IgnoreEOS: true}))
	if n != 3 {
		t.Errorf("the next request got %q", next)
	}
}

func TestAReaderThatFallsBehindIsCutAndOthersAreNot(t *testing.T) {
	f := start(t, sim.Options{}, func(c *engine.Config) { c.Buffer = 8 })
	slow := f.submit(t, engine.Request{ID: "slow", Prompt: prompt("x"), MaxTokens: 300, IgnoreEOS: true})
	<-slow.Done()
	if r := slow.Result(); r.Outcome != sched.OutcomeCancelledRunning || !errors.Is(r.Err, engine.ErrSlowConsumer) {
		t.Errorf("slow reader: %v, %v", r.Outcome, r.Err)
	}
}

func TestATextThatJustFitsTheChannelIsWhole(t *testing.T) {
	f := start(t, sim.Options{}, func(c *engine.Config) { c.Buffer = 8 })
	s := f.submit(t, engine.Request{ID: "a", Prompt: prompt("hello"), MaxTokens: 8, IgnoreEOS: true, Stop: []string{"\x00never"}})
	<-s.Done()
	if text, n := read(s); n != 8 || s.Result().Outcome != sched.OutcomeLength {
		t.Errorf("read %d of 8 tokens (%q), %v", n, text, s.Result().Outcome)
	}
}

func TestAFailedStepFailsItsRequestsAndNothingElse(t *testing.T) {
	broken := errors.New("broken")
	f := start(t, sim.Options{Fault: func(step uint64, _ *gpu.Batch) error {
		if step == 3 {
			return broken
		}
		return nil
	}}, nil)
	s := f.submit(t, engine.Request{ID: "a", Prompt: prompt("abc"), MaxTokens: 50, IgnoreEOS: true})
	read(s)
	if r := s.Result(); r.Outcome != sched.OutcomeFailed || !errors.Is(r.Err, broken) {
		t.Errorf("ended as %v, %v", r.Outcome, r.Err)
	}
	if _, n := read(f.submit(t, engine.Request{ID: "b", Prompt: prompt("abc"), MaxTokens: 50, IgnoreEOS: true})); n != 50 {
		t.Errorf("the next request got %d tokens", n)
	}
}

func TestDrainFinishesWhatRunsAndRefusesWhatComes(t *testing.T) {
	f := start(t, sim.Options{Wall: 0.2}, nil)
	s := f.submit(t, engine.Request{ID: "a", Prompt: prompt("abc"), MaxTokens: 40, IgnoreEOS: true})
	<-s.Events()
	done := make(chan struct{})
	go func() { f.Drain(context.Background()); close(done) }()
	for {
		late := f.submit(t, engine.Request{ID: "late", Prompt: prompt("x"), MaxTokens: 1})
		read(late)
		if r := late.Result(); r.Verdict.Reason == abi.ReasonDraining && r.Verdict.Status == 503 {
			break
		}
	}
	read(s)
	if s.Result().OutputTokens != 40 {
		t.Errorf("the running request got %d of 40 tokens", s.Result().OutputTokens)
	}
	<-done
}

func TestTheDrainLimitEndsWhatIsLeft(t *testing.T) {
	f := start(t, sim.Options{Wall: 1}, nil)
	s := f.submit(t, engine.Request{ID: "a", Prompt: prompt("abc"), MaxTokens: 400, IgnoreEOS: true})
	<-s.Events()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	f.Drain(ctx)
	if <-s.Done(); s.Result().Outcome != sched.OutcomeDrained {
		t.Errorf("ended as %v", s.Result().Outcome)
	}
}

func TestEveryRequestHasOneRecordWhateverHappens(t *testing.T) {
	f := start(t, sim.Options{}, func(c *engine.Config) { c.Sched.MaxWaiting = 8 })
	var wg sync.WaitGroup
	const n = 200
	for i := range n {
		s := f.submit(t, engine.Request{ID: fmt.Sprint(i), Prompt: prompt(strings.Repeat("p", 1+i)), MaxTokens: 1 + i%30, IgnoreEOS: i%2 == 0, TTL: int64(i%3) * 1e6})
		wg.Go(func() {
			if i%5 == 0 {
				s.Cancel()
			}
			read(s)
		})
	}
	wg.Wait()
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, r := range f.records {
		seen[r.ID] = true
	}
	if len(f.records) != n || len(seen) != n {
		t.Errorf("%d records of %d requests for %d submitted", len(f.records), len(seen), n)
	}
}

func TestMalformedRequestsAreRefused(t *testing.T) {
	f := start(t, sim.Options{}, nil)
	for name, req := range map[string]engine.Request{
		"no id":        {Prompt: prompt("x"), MaxTokens: 1},
		"no prompt":    {ID: "a", MaxTokens: 1},
		"no output":    {ID: "a", Prompt: prompt("x")},
		"bad token":    {ID: "a", Prompt: []gpu.Token{9999}, MaxTokens: 1},
		"bad sampling": {ID: "a", Prompt: prompt("x"), MaxTokens: 1, Sampling: spec.Params{Temperature: -1}},
		"bad class":    {ID: "a", Prompt: prompt("x"), MaxTokens: 1, Class: 200},
	} {
		if _, err := f.Submit(req); err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
	s := f.submit(t, engine.Request{ID: "long", Prompt: prompt(strings.Repeat("x", 512)), MaxTokens: 1})
	if read(s); s.Result().Verdict.Status != 400 || s.Result().Verdict.Limit != "context" {
		t.Errorf("a prompt as long as the context: %+v", s.Result())
	}
}
