package engine_test

import (
	"math"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/sluice-dev/sluice/gpu"
	"github.com/sluice-dev/sluice/gpu/sim"
	"github.com/sluice-dev/sluice/host/engine"
	"github.com/sluice-dev/sluice/host/sched"
	"github.com/sluice-dev/sluice/host/spec"
	"github.com/sluice-dev/sluice/plugins/abi"
)

func TestTheLastEventSaysSoAndNoOtherDoes(t *testing.T) {
	for name, req := range map[string]engine.Request{
		"length":      {MaxTokens: 20, IgnoreEOS: true},
		"one token":   {MaxTokens: 1, IgnoreEOS: true},
		"end token":   {MaxTokens: 500},
		"stop string": {MaxTokens: 200, IgnoreEOS: true, Stop: []string{"e"}},
		"held back":   {MaxTokens: 20, IgnoreEOS: true, Stop: []string{"e\x00"}},
	} {
		f := start(t, sim.Options{}, nil)
		req.ID, req.Prompt = name, prompt("hello")
		s := f.submit(t, req)
		events, tokens, last := 0, 0, 0
		for ev := range s.Events() {
			events++
			tokens += ev.Tokens
			if ev.Last {
				last = events
			}
		}
		<-s.Done()
		if last != events || events == 0 || tokens != s.Result().OutputTokens {
			t.Errorf("%s: event %d of %d says that it is the last; %d of %d tokens", name, last, events, tokens, s.Result().OutputTokens)
		}
	}
}

func TestTheProbabilityOfEachTokenComesWithItsText(t *testing.T) {
	f := start(t, sim.Options{}, func(c *engine.Config) {
		c.Sched.MaxDraft = 8
		c.Policies = &source{d: fixedK{8}}
	})
	whole := ""
	for _, stop := range []string{"", "\x00never", "xx"} {
		req := engine.Request{ID: "a", Prompt: prompt("hello hello"), MaxTokens: 60, IgnoreEOS: true, Logprobs: true, TopLogprobs: 5,
			Sampling: spec.Params{Temperature: 1, Seed: 3}}
		switch stop {
		case "":
		case "xx":
			req.Stop = []string{whole[20:23]}
		default:
			req.Stop = []string{stop}
		}
		s := f.submit(t, req)
		text, pieces, n := "", "", 0
		for ev := range s.Events() {
			text += ev.Text
			for _, p := range ev.Probs {
				n++
				pieces += string(p.Piece)
				checkProbs(t, p)
			}
		}
		<-s.Done()
		if pieces != text || n != len(text) {
			t.Errorf("stop %q: the text is %q, and probabilities are told of %q", stop, text, pieces)
		}
		if whole == "" {
			whole = text
		}
	}
	s := f.submit(t, engine.Request{ID: "b", Prompt: prompt("hello"), MaxTokens: 3, IgnoreEOS: true})
	for ev := range s.Events() {
		if ev.Probs != nil {
			t.Error("probabilities that nobody asked for")
		}
	}
}

func checkProbs(t *testing.T, p engine.TokenProbs) {
	t.Helper()
	if !(p.Log <= 0) || len(p.Top) != 5 {
		t.Fatalf("%+v", p)
	}
	sum, among := 0.0, false
	for i, alt := range p.Top {
		sum += math.Exp(alt.Log)
		if i > 0 && alt.Log > p.Top[i-1].Log {
			t.Errorf("the most probable one is not first: %+v", p.Top)
		}
		if alt.Token == p.Token {
			among = alt.Log == p.Log
		}
	}
	if sum > 1+1e-9 || !among && p.Log > p.Top[4].Log {
		t.Errorf("%+v sums up to %v", p, sum)
	}
}

// letters is a grammar of at most n letters of a set, and then the end.
type letters struct {
	set    string
	left   int
	closed *atomic.Int32
}

func (g *letters) Allows(t gpu.Token) bool {
	if g.left == 0 {
		return t == sim.TokenEnd
	}
	return t < 256 && strings.IndexByte(g.set, byte(t)) >= 0
}

func (g *letters) Mask(logits []float32) {
	for t := range logits {
		if !g.Allows(gpu.Token(t)) {
			logits[t] = float32(math.Inf(-1))
		}
	}
}

func (g *letters) Accept(t gpu.Token) {
	if !g.Allows(t) {
		panic("BUG: a token that the grammar does not allow")
	}
	g.left--
}

func (g *letters) Close() { g.closed.Add(1) }

func TestAGrammarDecidesWhatMayFollowWithAndWithoutDrafts(t *testing.T) {
	for _, temperature := range []float64{0, 1} {
		want := ""
		for _, k := range []uint32{0, 1, 8} {
			f := start(t, sim.Options{}, func(c *engine.Config) {
				c.Sched.MaxDraft = 8
				c.Policies = &source{d: fixedK{k}}
			})
			var closed atomic.Int32
			s := f.submit(t, engine.Request{ID: "a", Prompt: prompt("xyxyxyxyxy"), MaxTokens: 200, Sampling: spec.Params{Temperature: temperature, Seed: 1},
				Grammar: &letters{set: "xy", left: 50, closed: &closed}})
			got, n := read(s)
			if len(got) != 50 || strings.Trim(got, "xy") != "" || s.Result().Outcome != sched.OutcomeCompleted || n != 51 {
				t.Errorf("k %d: %q, %d tokens, %v: %v", k, got, n, s.Result().Outcome, s.Result().Err)
			}
			if k > 0 && s.Result().Drafted == 0 {
				t.Errorf("k %d drafted nothing", k)
			}
			if want == "" {
				want = got
			}
			if got != want || closed.Load() != 1 {
				t.Errorf("k %d: %q, want %q; closed %d times", k, got, want, closed.Load())
			}
		}
	}
}

func TestAGrammarIsClosedOnceOnEveryWayOut(t *testing.T) {
	var closed atomic.Int32
	grammar := func() gpu.Grammar { return &letters{set: "ab", left: 1000, closed: &closed} }
	request := func(id string) engine.Request {
		return engine.Request{ID: id, Prompt: prompt("abab"), MaxTokens: 400, Grammar: grammar()}
	}
	want := int32(0)
	check := func(way string) {
		t.Helper()
		if want++; closed.Load() != want {
			t.Errorf("%s: closed %d times, want %d", way, closed.Load(), want)
			want = closed.Load()
		}
	}
	p := &plan{}
	f := start(t, sim.Options{MaxSeqs: 1, Fault: p.fault}, func(c *engine.Config) { c.Buffer = 4 })
	bad := request("")
	if _, err := f.Submit(bad); err == nil {
		t.Error("a request without an id was taken")
	}
	check("malformed")
	long := request("long")
	long.Prompt = prompt(strings.Repeat("x", 600))
	read(f.submit(t, long))
	check("too long")
	short := request("short")
	short.MaxTokens = 3
	read(f.submit(t, short))
	check("length")
	slow := f.submit(t, request("slow"))
	<-slow.Done()
	check("slow reader")
	p.next(nil, engineError{})
	s := f.submit(t, request("failed"))
	read(s)
	check("device")
	gone := f.submit(t, request("gone"))
	gone.Cancel()
	read(gone)
	check("cancelled")
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Submit(request("closed")); err == nil {
		t.Error("a closed engine took a request")
	}
	check("closed")
}

type engineError struct{}

func (engineError) Error() string { return "broken" }

// watcher notes the deadlines that policies are shown.
type watcher struct {
	fixedK
	ttft, deadline atomic.Int64
}

func (*watcher) Hooks() abi.Hook { return abi.HookAdmit }
func (w *watcher) Admit(_ *abi.State, rows []abi.Row, _ []abi.Verdict, _ []abi.PolicyID) {
	if rows[0].Valid&abi.RowHasTTFTDeadlineNS != 0 {
		w.ttft.Store(rows[0].TTFTDeadlineNS - rows[0].ArrivalNS)
	}
	if rows[0].Valid&abi.RowHasE2EDeadlineNS != 0 {
		w.deadline.Store(rows[0].E2EDeadlineNS - rows[0].ArrivalNS)
	}
}

func TestPoliciesSeeTheDeadlinesOfARequest(t *testing.T) {
	w := &watcher{}
	f := start(t, sim.Options{}, func(c *engine.Config) { c.Policies = &source{d: w} })
	read(f.submit(t, engine.Request{ID: "first", Prompt: prompt("x"), MaxTokens: 1})) // the policy is in force after a step
	read(f.submit(t, engine.Request{ID: "a", Prompt: prompt("x"), MaxTokens: 1, TTFT: 5e9, Deadline: 9e9}))
	if w.ttft.Load() != 5e9 || w.deadline.Load() != 9e9 {
		t.Errorf("seen: %d and %d ns after the arrival", w.ttft.Load(), w.deadline.Load())
	}
}
