package main

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/sluice-dev/sluice/gpu"
	"github.com/sluice-dev/sluice/gpu/llama"
	"github.com/sluice-dev/sluice/host/engine"
	"github.com/sluice-dev/sluice/host/sched"
	"github.com/sluice-dev/sluice/host/trace"
	"github.com/sluice-dev/sluice/plugins/abi"
)

const (
	promptTokens = 32
	draftTokens  = 4
)

// openEngine opens the server's engine on a device of its own, which it closes.
func openEngine(o llama.Options) (*engine.Engine, error) {
	dev, err := llama.Open(o)
	if err != nil {
		return nil, fmt.Errorf("open device: %w", err)
	}
	info := dev.Info()
	cfg := sched.DefaultConfig(info.MaxSeqs, info.MaxBatchTokens, info.ContextTokens, info.KVTokens)
	cfg.MaxDraft = draftTokens
	return engine.New(engine.Config{Device: dev, Tokenizer: dev.Tokenizer(), Sched: cfg, Policies: &always{}})
}

// texts is what some streams generated together.
type texts struct {
	text             []string
	rate             float64 // tokens per second from the moment at which all streams had one
	drafts, accepted int
}

// generate runs one greedy stream for each prompt, all at once.
func generate(eng *engine.Engine, prompts [][]gpu.Token, tokens int, drafts bool) (t texts, err error) {
	var streams []*engine.Stream
	for i, p := range prompts {
		s, err := eng.Submit(engine.Request{ID: strconv.Itoa(i), Prompt: p, MaxTokens: tokens + 1, IgnoreEOS: true, NoSpec: !drafts})
		if err != nil {
			return t, err
		}
		streams = append(streams, s)
	}
	r := reader{waiting: len(streams)}
	t.text = make([]string, len(streams))
	var wg sync.WaitGroup
	for i, s := range streams {
		wg.Go(func() { t.text[i] = r.read(s) })
	}
	wg.Wait()
	elapsed := time.Since(r.from)
	for _, s := range streams {
		<-s.Done()
		res := s.Result()
		if res.OutputTokens != tokens+1 {
			return t, fmt.Errorf("a stream ended as %v after %d tokens: %v", res.Outcome, res.OutputTokens, res.Err)
		}
		t.drafts, t.accepted = t.drafts+res.Drafted, t.accepted+res.Accepted
	}
	t.rate = float64(r.tokens-r.before) / elapsed.Seconds()
	return t, nil
}

// reader counts the tokens of streams that run together.
type reader struct {
	mu      sync.Mutex
	waiting int // streams without a token
	tokens  int
	before  int       // tokens when the last stream had its first
	from    time.Time // when that was
}

func (r *reader) read(s *engine.Stream) string {
	var text strings.Builder
	first := true
	for ev := range s.Events() {
		text.WriteString(ev.Text)
		r.mu.Lock()
		r.tokens += ev.Tokens
		if first {
			if r.waiting--; r.waiting == 0 {
				r.from, r.before = time.Now(), r.tokens
			}
			first = false
		}
		r.mu.Unlock()
	}
	return text.String()
}

// always is a policy that has every row that may draft do so.
type always struct{ asked bool }

// Swap implements engine.PolicySource.
func (a *always) Swap(int64) (abi.Decider, uint32, bool) {
	changed := !a.asked
	a.asked = true
	return a, 1, changed
}

// Who implements engine.PolicySource.
func (*always) Who(abi.PolicyID) trace.Decider { return trace.Decider{Policy: trace.NativeName} }

// Hooks, and what follows, implements abi.Decider.
func (*always) Hooks() abi.Hook                                                      { return abi.HookSpeculate }
func (*always) Reads() abi.Group                                                     { return 0 }
func (*always) Admit(*abi.State, []abi.Row, []abi.Verdict, []abi.PolicyID)           {}
func (*always) Prioritize(*abi.State, []abi.Row, []abi.Ranking) (bool, abi.PolicyID) { return false, 0 }
func (*always) BatchPlan(*abi.State, *abi.BatchPlan) (bool, abi.PolicyID)            { return false, 0 }
func (*always) Events(*abi.State, []abi.Event)                                       {}
func (*always) Speculate(_ *abi.State, _ []abi.Row, out *abi.SpecPlan, _ []int32) (bool, abi.PolicyID) {
	out.K = draftTokens
	return true, abi.Native
}
