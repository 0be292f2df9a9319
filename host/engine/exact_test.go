package engine_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/sluice-dev/sluice/gpu"
	"github.com/sluice-dev/sluice/gpu/sim"
	"github.com/sluice-dev/sluice/host/engine"
	"github.com/sluice-dev/sluice/host/sched"
	"github.com/sluice-dev/sluice/host/spec"
	"github.com/sluice-dev/sluice/plugins/abi"
)

// restless is a policy that changes its mind at each step: k, limits and ranks follow from the step's seed.
type restless struct{ fixedK }

func (restless) Hooks() abi.Hook { return abi.HookSpeculate | abi.HookBatchCap | abi.HookPrioritize }

func (restless) BatchPlan(st *abi.State, out *abi.BatchPlan) (bool, abi.PolicyID) {
	out.PrefillBudgetTokens, out.ChunkTokens = 1+uint32(st.RngSeed%40), 1+uint32(st.RngSeed>>8%40)
	return true, 1
}

func (restless) Prioritize(st *abi.State, rows []abi.Row, out []abi.Ranking) (bool, abi.PolicyID) {
	for i := range rows {
		out[i] = abi.Ranking{Score: int64((rows[i].ID * (st.RngSeed | 1)) >> 61), Flags: uint32(abi.RankFlagMayPreempt)}
	}
	return true, 1
}

func (restless) Speculate(st *abi.State, _ []abi.Row, out *abi.SpecPlan, k []int32) (bool, abi.PolicyID) {
	out.NgramMin, out.NgramMax = 1+uint32(st.RngSeed%2), 3
	for i := range k {
		k[i] = int32((st.RngSeed >> (4 * uint(i%16))) % 16)
	}
	return true, 1
}

// company is one way in which requests can be served together.
type company struct {
	name string
	sim  sim.Options
	conf func(*engine.Config)
}

// costs that make the scheduler save, or never save, what it preempts.
var (
	saveCosts      = gpu.Costs{PrefillToken: 1000, SaveToken: 1}
	recomputeCosts = gpu.Costs{}
)

func companies() []company {
	var all []company
	for _, cache := range []bool{false, true} {
		for _, shared := range []bool{false, true} {
			for _, costs := range []gpu.Costs{recomputeCosts, saveCosts} {
				c := company{
					name: fmt.Sprintf("cache %v, shared %v, saves %v", cache, shared, costs.SaveToken > 0),
					sim:  sim.Options{MaxSeqs: 4, SpareSeqs: 2, CopyMin: 16, SharedKV: shared, CanSave: true},
				}
				c.conf = func(ec *engine.Config) {
					ec.NoPrefixCache = !cache
					ec.Policies = &source{d: restless{}}
					s := &ec.Sched
					s.MaxDraft, s.BlockSize, s.Blocks, s.MaxPreemptions = 15, 4, 60, 1000
					s.SpareSeqs, s.CopyMin, s.SharedKV, s.MaxSaved, s.Costs = 2, 8, shared, 4096, costs
				}
				all = append(all, c)
			}
		}
	}
	return all
}

// drawRequest is a request of an own or a common beginning, greedy or not.
func drawRequest(rng *rand.Rand, id int) engine.Request {
	common := strings.Repeat("the same beginning of a text ", 3)
	text := common[:rng.IntN(len(common)-1)+1]
	if rng.IntN(4) == 0 {
		text = fmt.Sprintf("%d is alone ", rng.IntN(100))
	}
	req := engine.Request{
		ID: fmt.Sprint(id), Prompt: prompt(text + strings.Repeat(fmt.Sprint(rng.IntN(5)), rng.IntN(12))), MaxTokens: 1 + rng.IntN(60),
		IgnoreEOS: rng.IntN(3) > 0, NoSpec: rng.IntN(8) == 0,
	}
	if rng.IntN(2) == 0 {
		req.Sampling = spec.Params{Temperature: 0.7, Seed: rng.Uint64(), TopK: rng.IntN(3) * 10}
	}
	if rng.IntN(4) == 0 {
		req.Sampling.RepetitionPenalty = 1.2
	}
	if rng.IntN(4) == 0 {
		req.Stop = []string{"tt", "e a"}
	}
	return req
}

// The text of a request is the same alone and in any company: with drafts of any length, mates that come, go and leave, preempted
// and computed again or saved and restored, with and without a prefix cache.
func TestTextIsExactInThousandsOfCompanies(t *testing.T) {
	const rounds, mates = 50, 9 // in each of eight companies, so 3,600 requests
	alone := start(t, sim.Options{MaxSeqs: 1}, func(c *engine.Config) { c.NoPrefixCache = true })
	var total sched.Stats
	found := 0
	for n, c := range companies() {
		f := start(t, c.sim, c.conf)
		rng := rand.New(rand.NewPCG(1, uint64(n)))
		cached := 0
		for round := range rounds {
			var wg sync.WaitGroup
			got := make([]string, mates)
			reqs := make([]engine.Request, mates)
			results := make([]engine.Result, mates)
			left := make([]bool, mates)
			for i := range mates {
				reqs[i] = drawRequest(rng, i)
				leaves := rng.IntN(6) == 0
				left[i] = leaves
				s := f.submit(t, reqs[i])
				wg.Go(func() {
					if leaves {
						<-s.Events()
						s.Cancel()
					}
					got[i], _ = read(s)
					results[i] = s.Result()
				})
			}
			wg.Wait()
			for i, req := range reqs {
				if left[i] {
					continue
				}
				cached += results[i].CachedTokens
				s := alone.submit(t, req)
				want, _ := read(s)
				if r := s.Result(); got[i] != want || results[i].Outcome != r.Outcome {
					t.Fatalf("%s, round %d, request %d: %q (%v), alone %q (%v)", c.name, round, i, got[i], results[i].Outcome, want, r.Outcome)
				}
			}
		}
		snap := f.settled(t)
		s := snap.Stats
		total.Accepted += s.Accepted
		total.Preemptions += s.Preemptions
		total.Restores += s.Restores
		found += cached
		if snap.Faults.Lost > 0 || snap.Faults.KV > 0 {
			t.Errorf("%s: %+v on a device without faults", c.name, snap.Faults)
		}
		if on := strings.Contains(c.name, "cache true"); (cached > 0) != on {
			t.Errorf("%s: %d tokens came from the cache", c.name, cached)
		}
	}
	t.Logf("%d drafts accepted, %d preemptions, %d restored, %d tokens from the cache", total.Accepted, total.Preemptions, total.Restores, found)
	if total.Accepted == 0 || total.Preemptions == 0 || total.Restores == 0 || found == 0 {
		t.Errorf("the comparison leaves something out: %+v", total)
	}
}
