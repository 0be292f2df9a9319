package sched_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/sluice-dev/sluice/gpu"
	"github.com/sluice-dev/sluice/host/sched"
	"github.com/sluice-dev/sluice/plugins/abi"
	"pgregory.net/rapid"
)

// seen adds up over all drawn cases what happened, so that the test cannot pass because nothing did.
type seen struct {
	stats                    sched.Stats
	copies, forgets, dropped int
}

func (s *seen) add(g *rig) {
	st := g.core.Stats()
	s.stats.PrefixHits += st.PrefixHits
	s.stats.EvictedBlocks += st.EvictedBlocks
	s.stats.Restores += st.Restores
	s.stats.Preemptions += st.Preemptions
	s.stats.ReloadedTokens += st.ReloadedTokens
	s.stats.Accepted += st.Accepted
	s.copies += g.ops[sched.OpCopy]
	s.forgets += g.ops[sched.OpForget]
}

// The same requests, with the cache and without: whatever is shared, copied, evicted, saved, lost or cancelled, the device
// never refuses, each sequence holds what it should, and the answers are those of a request that is alone.
func TestAnswersDoNotDependOnWhatTheDeviceSharesOrSaves(t *testing.T) {
	answers, total := map[string][]gpu.Token{}, seen{}
	rapid.Check(t, func(t *rapid.T) {
		cfg := drawKVConfig(t)
		x := &kvTraffic{t: t, answers: answers, rig: newRig(t, cfg, drawKVPolicy(t))}
		x.drawFaults(rapid.Bool().Draw(t, "faults"))
		x.traffic()
		total.add(x.rig)
		total.dropped += x.dropped
	})
	for what, n := range map[string]int{
		"hits": int(total.stats.PrefixHits), "evictions": int(total.stats.EvictedBlocks), "restored": int(total.stats.Restores), "reloaded": int(total.stats.ReloadedTokens),
		"preemptions": int(total.stats.Preemptions), "accepted drafts": int(total.stats.Accepted), "copies": total.copies,
		"forgotten": total.forgets, "devices opened anew": total.dropped,
	} {
		if n == 0 {
			t.Errorf("%s: none in all cases", what)
		}
	}
}

func drawKVConfig(t *rapid.T) sched.Config {
	pick := func(name string, from ...int) int { return rapid.SampledFrom(from).Draw(t, name) }
	cfg := sched.DefaultConfig(rapid.IntRange(1, 5).Draw(t, "seats"), 0, 64, 64)
	cfg.BlockSize = pick("block", 1, 3, 4, 8)
	cfg.Blocks = rapid.IntRange(50, 130).Draw(t, "kv tokens") / cfg.BlockSize
	cfg.ContextTokens = min(64, cfg.Blocks*cfg.BlockSize)
	cfg.MaxBatchTokens, cfg.ChunkTokens = cfg.MaxSeqs+rapid.IntRange(3, 40).Draw(t, "batch"), rapid.IntRange(1, 20).Draw(t, "chunk")
	cfg.MaxDraft = pick("drafts", 0, 3)
	cfg.SpareSeqs, cfg.SharedKV, cfg.CopyMin = pick("spare", 0, 1, 4), rapid.Bool().Draw(t, "shared"), pick("copy min", 0, 1, 4, 12)
	cfg.MaxSaved = pick("saved", 0, 30, 200)
	cfg.Costs = gpu.Costs{PrefillToken: 10, SaveToken: int64(pick("save cost", 0, 2, 9)), HeldToken: int64(pick("held cost", 0, 10e3))}
	return cfg
}

// drawKVPolicy drafts, and prefers some requests strictly, so that others lose their places.
func drawKVPolicy(t *rapid.T) abi.Decider {
	return rapid.SampledFrom([]abi.Decider{nil,
		answers{spec: func(*abi.State) abi.SpecPlan { return abi.SpecPlan{K: 3} }},
		answers{spec: func(*abi.State) abi.SpecPlan { return abi.SpecPlan{K: 2} }, rank: func(r *abi.Row) abi.Ranking {
			return abi.Ranking{Score: int64(r.Class), Flags: uint32(abi.RankFlagMayPreempt)}
		}},
	}).Draw(t, "policy")
}

// kvTraffic is drawn requests whose prompts have much in common.
type kvTraffic struct {
	t *rapid.T
	*rig
	answers map[string][]gpu.Token
	prompt  map[uint64][]gpu.Token
	next    uint64
	dropped int
}

func (x *kvTraffic) drawFaults(on bool) {
	oneIn := func(n int, name string) func() bool {
		return func() bool { return on && rapid.IntRange(0, n-1).Draw(x.t, name) == 0 }
	}
	x.faults = faults{op: oneIn(60, "op fails"), save: oneIn(5, "save fails"), forward: oneIn(40, "step fails"),
		row: oneIn(60, "row fails"), lost: func(uint64) bool { return oneIn(60, "row lost")() }, stop: oneIn(25, "stop"), draft: x.guess}
	if !on {
		x.faults = faults{draft: x.guess}
	}
}

// guess is right, but for a wrong token now and then.
func (x *kvTraffic) guess(id uint64, k int) []gpu.Token {
	answer, from := x.answer(x.prompt[id]), len(x.texts[id])-x.prompts[id]
	k = min(k, max(0, len(answer)-from))
	draft := slices.Clone(answer[from : from+k])
	if k > 0 && rapid.IntRange(0, 2).Draw(x.t, "wrong") == 0 {
		draft[rapid.IntRange(0, k-1).Draw(x.t, "at")] ^= 1
	}
	return draft
}

// answer is the longest answer to prompt.
func (x *kvTraffic) answer(prompt []gpu.Token) []gpu.Token {
	key := fmt.Sprint(prompt)
	if x.answers[key] == nil {
		x.answers[key] = alone(x.t, prompt, 40)
	}
	return x.answers[key]
}

func (x *kvTraffic) traffic() {
	x.prompt = map[uint64][]gpu.Token{}
	for range rapid.IntRange(20, 100).Draw(x.t, "steps") {
		switch do := rapid.IntRange(0, 15).Draw(x.t, "do"); {
		case do < 5:
			x.newRequest()
		case do == 5 && x.next > 0:
			x.core.Cancel(x.now, rapid.Uint64Range(1, x.next).Draw(x.t, "who"), sched.OutcomeCancelledRunning)
		case do == 6 && x.op != nil && x.oneInFour("anew"):
			x.reopen()
			x.core.DropKV(x.now)
			x.dropped++
		case do == 7:
			x.core.SetPressure(sched.Pressure{NoCache: x.oneInFour("no cache"), NoSaved: x.oneInFour("no saves")})
		default:
			x.step()
		}
		x.check()
		x.takeEnded()
	}
	x.run()
	x.judge()
}

func (x *kvTraffic) oneInFour(what string) bool { return rapid.IntRange(0, 3).Draw(x.t, what) == 0 }

func (x *kvTraffic) newRequest() {
	x.next++
	prompt := shared(tokens(rapid.IntRange(0, 1).Draw(x.t, "prefix"), rapid.SampledFrom([]int{4, 16, 24}).Draw(x.t, "common")),
		tokens(rapid.IntRange(2, 4).Draw(x.t, "tail"), rapid.IntRange(0, 9).Draw(x.t, "own"))...)
	if n := len(x.outputs); n > 0 && rapid.Bool().Draw(x.t, "turn") { // a further turn of a conversation
		id := rapid.Uint64Range(1, x.next-1).Draw(x.t, "of")
		if more := shared(shared(x.prompt[id], x.outputs[id]...), 'x', 'y'); len(more) < 50 {
			prompt = more
		}
	}
	x.prompt[x.next] = prompt
	x.arrive(&sched.Request{ID: x.next, MaxTokens: rapid.IntRange(1, 14).Draw(x.t, "max"), Class: uint8(rapid.IntRange(0, 1).Draw(x.t, "class"))}, prompt)
}

func (x *kvTraffic) judge() {
	if used := x.core.BlocksUsed(); used != 0 {
		x.t.Fatalf("nothing runs and %d blocks are held", used)
	}
	for id, r := range x.ended {
		got := x.outputs[id]
		if want := x.answer(x.prompt[id]); !slices.Equal(got, want[:min(len(got), len(want))]) || len(got) != r.Generated {
			x.t.Fatalf("request %d (%v, %d cached, %d preemptions) answered %v, alone %v", id, r.Outcome, r.Cached, r.Preemptions, got, want)
		}
		if r.TokensLost > 0 && r.Preemptions == 0 && x.dropped == 0 || r.Cached >= r.PromptTokens {
			x.t.Fatalf("request %d lost %d tokens in %d preemptions, %d of %d were cached", id, r.TokensLost, r.Preemptions, r.Cached, r.PromptTokens)
		}
	}
}
