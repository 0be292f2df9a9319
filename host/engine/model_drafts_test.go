package engine_test

import (
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/sluice-dev/sluice/gpu/llama"
	"github.com/sluice-dev/sluice/host/engine"
	"github.com/sluice-dev/sluice/host/sched"
	"github.com/sluice-dev/sluice/host/spec"
	"github.com/sluice-dev/sluice/plugins/abi"
)

// dial is a policy that drafts as many tokens as it was set to, and changes its mind about who goes first.
type dial struct {
	restless
	k atomic.Uint32
}

func (*dial) Hooks() abi.Hook { return abi.HookSpeculate | abi.HookPrioritize }

func (d *dial) Speculate(_ *abi.State, _ []abi.Row, out *abi.SpecPlan, _ []int32) (bool, abi.PolicyID) {
	out.K = d.k.Load()
	return true, 1
}

// shares lets the scheduler copy what begins alike, as the device can.
func shares(c *engine.Config) {
	info := c.Device.Info()
	c.Sched.SpareSeqs, c.Sched.CopyMin, c.Sched.SharedKV = info.SpareSeqs, min(info.CopyMin, 16), info.SharedKV
}

// tight is so few KV blocks that four requests at a time push each other out.
func tight(s *sched.Config) { s.BlockSize, s.Blocks, s.MaxPreemptions = 8, 18, 1000 }

// aloneOnModel is the text of each request without drafts and without company.
func aloneOnModel(t *testing.T, n int, change func(*engine.Request)) (reqs []engine.Request, texts []string) {
	t.Helper()
	f := onModel(t, llama.LayoutSplit, func(c *engine.Config) { c.NoPrefixCache, c.Sched.MaxDraft = true, 0 })
	reqs = modelRequests(t, f.tok, n)
	for i := range reqs {
		if change != nil {
			change(&reqs[i])
		}
		text, _ := read(f.submit(t, reqs[i]))
		texts = append(texts, text)
	}
	return reqs, texts
}

// From no draft to the most that a row may have: the model's text is the same, bit for bit, among others that come, leave and are
// preempted.
func TestTheModelsTextIsExactWithEveryNumberOfDrafts(t *testing.T) {
	reqs, want := aloneOnModel(t, 6, func(r *engine.Request) { r.MaxTokens = 24 })
	d := &dial{}
	f := onModel(t, llama.LayoutSplit, func(c *engine.Config) {
		c.Policies, c.Sched.MaxPreemptions = &source{d: d}, 1000
		shares(c)
	})
	var before sched.Stats
	for k := range 16 {
		d.k.Store(uint32(k))
		got, _ := f.serve(t, reqs)
		if !slices.Equal(got, want) {
			t.Errorf("k %d: %q, alone %q", k, got, want)
		}
		s := f.settled(t).Stats
		if longest := k - 1; k > 0 && s.DraftedAt[longest] == before.DraftedAt[longest] || k == 0 && s.Drafted > 0 {
			t.Errorf("k %d: no row had so many drafts: %v", k, s.DraftedAt)
		}
		before = s
	}
	t.Logf("accepted %v of %v, %d preemptions", before.AcceptedAt, before.DraftedAt, before.Preemptions)
	if before.Accepted == 0 || before.Accepted == before.Drafted || before.Preemptions == 0 {
		t.Errorf("%d of %d drafts accepted, %d preemptions: the comparison says little", before.Accepted, before.Drafted, before.Preemptions)
	}
}

// counts is what a request drafted and accepted.
type counts struct{ drafted, accepted int }

// together serves all at once and gives their texts and counts.
func (f *fixture) together(t *testing.T, reqs []engine.Request) (texts []string, all []counts) {
	t.Helper()
	streams, err := f.SubmitAll(reqs)
	if err != nil {
		t.Fatal(err)
	}
	texts, all = make([]string, len(reqs)), make([]counts, len(reqs))
	var wg sync.WaitGroup
	for i, s := range streams {
		wg.Go(func() {
			texts[i], _ = read(s)
			all[i] = counts{s.Result().Drafted, s.Result().Accepted}
		})
	}
	wg.Wait()
	return texts, all
}

// Under split KV a request drafts and accepts the same at every size of the batch, with n-grams and with a model that drafts; and
// so its text is the same, drawn or not.
func TestAcceptanceIsTheSameAtEveryBatchSizeUnderSplitKV(t *testing.T) {
	for name, c := range map[string]struct {
		sizes   []int
		drafter func(*llama.Options)
	}{
		"n-grams":       {[]int{1, 2, 3, 4, 5, 6, 7, 8}, func(*llama.Options) {}},
		"a draft model": {[]int{1, 3, 8}, func(o *llama.Options) { o.Drafter, o.DraftModel = llama.DrafterModel, publishedModel }},
	} {
		t.Run(name, func(t *testing.T) {
			var texts []string
			var first []counts
			for _, size := range c.sizes {
				f := onDevice(t, func(o *llama.Options) {
					o.KVLayout, o.MaxSeqs, o.KVTokens, o.MaxBatchTokens = llama.LayoutSplit, 8, 8*256, 512
					c.drafter(o)
				}, func(ec *engine.Config) {
					ec.NoPrefixCache, ec.Policies, ec.Sched.MaxSeqs = true, &source{d: fixedK{4}}, size
				})
				reqs := modelRequests(t, f.tok, 8)
				for i := range reqs {
					reqs[i].MaxTokens = 12
				}
				got, all := f.together(t, reqs)
				if first == nil {
					texts, first = got, all
					t.Logf("drafted and accepted: %v", all)
				}
				if !slices.Equal(got, texts) || !slices.Equal(all, first) {
					t.Errorf("batch of %d: drafted and accepted %v, one at a time %v; text %q, %q", size, all, first, got, texts)
				}
				if s := f.settled(t).Stats; s.Accepted == 0 || s.Accepted == s.Drafted {
					t.Errorf("%d of %d drafts accepted: the comparison says little", s.Accepted, s.Drafted)
				}
			}
		})
	}
}

// Greedy text with a model that drafts is the plain one, among others that come, leave, and are preempted, saved and restored.
func TestTheModelsGreedyTextIsTheSameWithADraftModel(t *testing.T) {
	reqs, want := aloneOnModel(t, 10, func(r *engine.Request) { r.Sampling = spec.Params{} })
	f := onDevice(t, func(o *llama.Options) {
		o.KVLayout, o.Drafter, o.DraftModel = llama.LayoutSplit, llama.DrafterModel, publishedModel
	}, func(c *engine.Config) {
		c.Policies = &source{d: restless{}}
		tight(&c.Sched)
		c.Sched.Costs, c.Sched.MaxSaved = saveCosts, 4096
		shares(c)
	})
	got, cached := f.serve(t, reqs)
	if !slices.Equal(got, want) {
		t.Errorf("with a draft model %q, without %q", got, want)
	}
	s := f.settled(t)
	t.Logf("%d of %d drafts accepted, %d preemptions, %d restored, %d tokens cached, %+v",
		s.Stats.Accepted, s.Stats.Drafted, s.Stats.Preemptions, s.Stats.Restores, cached, s.Faults)
	if s.Stats.Accepted == 0 || s.Stats.Accepted == s.Stats.Drafted || s.Stats.Preemptions == 0 || s.Stats.Restores == 0 || s.Faults.KV > 0 {
		t.Error("the comparison leaves something out")
	}
}
