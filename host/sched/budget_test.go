package sched_test

import (
	"slices"
	"testing"

	"github.com/sluice-dev/sluice/gpu"
	"github.com/sluice-dev/sluice/host/sched"
	"github.com/sluice-dev/sluice/plugins/abi"
)

// large is a configuration in which nothing but time limits a step.
func large() sched.Config {
	c := sched.DefaultConfig(8, 8192, 1<<20, 1<<21)
	c.ChunkTokens = 8192
	return c
}

// chat adds n requests that decode from the start.
func (d *paced) chat(n, tokens int) (all []*sched.Request) {
	for i := range n {
		all = append(all, d.add(d.now, &sched.Request{ID: uint64(i + 1), PromptTokens: 8, MaxTokens: tokens}))
	}
	return all
}

// shortsAndLongs has n prompts of 32 tokens come from the first second on, one every 250 ms, and with each every-th one of 2,000.
func (d *paced) shortsAndLongs(n, every int) (shorts, longs []*sched.Request) {
	for i := range n {
		at := int64(1e9) + int64(i)*250e6
		shorts = append(shorts, d.add(at, &sched.Request{ID: uint64(1000 + i), PromptTokens: 32, MaxTokens: 8}))
		if i%every == 0 {
			longs = append(longs, d.add(at, &sched.Request{ID: uint64(100 + i), PromptTokens: 2000, MaxTokens: 8}))
		}
	}
	return shorts, longs
}

// A long prompt beside a chat: gaps stay below the objective once the device is known, the prompt goes on as fast as that allows,
// and a short one that comes later waits for a few steps and not for the long one.
func TestALongPromptKeepsTheGapsOfOthersUnderTheirObjective(t *testing.T) {
	d := pace(t, large(), nil, 10e6, 200e3)
	chat := d.chat(4, 4000)
	long := d.add(100e6, &sched.Request{ID: 90, PromptTokens: 65536, MaxTokens: 2})
	short := d.add(2e9, &sched.Request{ID: 91, PromptTokens: 101, MaxTokens: 2})
	d.run(60e9)
	for i, ns := range d.mixed[3:] {
		if ns > 50e6 {
			t.Fatalf("mixed step %d took %d ms, the objective is 50 ms", i, ns/1e6)
		}
	}
	for _, r := range chat {
		if r.MaxGap > 50e6 {
			t.Errorf("request %d had a gap of %d ms", r.ID, r.MaxGap/1e6)
		}
	}
	if n := slices.Max(d.prompt); n < 150 || n > 200 {
		t.Errorf("steps hold up to %d prompt tokens; 45 ms have room for about 170", n)
	}
	// 65,536 tokens at some 170 a step of 45 ms.
	if long.FirstToken == 0 || long.FirstToken > 25e9 {
		t.Errorf("the long prompt's first token came after %d ms", long.FirstToken/1e6)
	}
	if wait := short.FirstToken - short.Arrival; short.FirstToken == 0 || wait > 4*50e6 {
		t.Errorf("the short prompt's first token came after %d ms", wait/1e6)
	}
}

// On a device so slow that no prompt token fits the objective both sides still go on: a KV block of the prompt in each step, and a
// token of each that decodes.
func TestBothSidesGoOnWhereTheObjectiveCannotBeHeld(t *testing.T) {
	cfg := large()
	d := pace(t, cfg, nil, 60e6, 5e6)
	chat := d.chat(2, 400)
	long := d.add(1e9, &sched.Request{ID: 90, PromptTokens: 800, MaxTokens: 2})
	d.run(60e9)
	for i, n := range d.prompt[3 : len(d.prompt)-1] {
		if n != cfg.BlockSize {
			t.Fatalf("mixed step %d holds %d prompt tokens, want a block of %d", i, n, cfg.BlockSize)
		}
	}
	if long.FirstToken == 0 || chat[0].MaxGap > 10*slices.Max(d.mixed[3:]) || chat[0].Generated != 400 {
		t.Errorf("first token at %d, %d tokens beside it with gaps of up to %d ms", long.FirstToken, chat[0].Generated, chat[0].MaxGap/1e6)
	}
}

// The tightest objective among the classes that decode counts, and no other's.
func TestTheBudgetIsThatOfTheClassesThatDecode(t *testing.T) {
	for _, c := range []struct {
		name  string
		class uint8
		slo   [2]int64
		below int64
		least int64
	}{
		{"a tight class decodes", 0, [2]int64{20e6, 400e6}, 20e6, 15e6},
		{"a tight class only waits", 1, [2]int64{20e6, 400e6}, 400e6, 300e6},
		{"no objective", 1, [2]int64{20e6, 0}, 1 << 60, 1600e6},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := large()
			cfg.SLO[0].TPOTNS, cfg.SLO[1].TPOTNS = c.slo[0], c.slo[1]
			d := pace(t, cfg, nil, 5e6, 200e3)
			d.add(d.now, &sched.Request{ID: 1, PromptTokens: 8, MaxTokens: 3000, Class: c.class})
			d.add(d.now+1, &sched.Request{ID: 2, PromptTokens: 200_000, MaxTokens: 2, Class: c.class})
			d.run(20e9)
			mixed := d.mixed[8:]
			if worst := slices.Max(mixed); worst > c.below || worst < c.least {
				t.Errorf("steps take up to %d ms, want %d to %d", worst/1e6, c.least/1e6, c.below/1e6)
			}
		})
	}
}

// What a policy says about prompt tokens counts, whatever time they take.
func TestAPolicysBudgetOrChunkIsInThePlaceOfTime(t *testing.T) {
	for name, c := range map[string]struct {
		plan abi.BatchPlan
		want int
	}{
		"budget": {abi.BatchPlan{PrefillBudgetTokens: 700}, 700},
		"chunk":  {abi.BatchPlan{ChunkTokens: 900}, 900},
		"less":   {abi.BatchPlan{PrefillBudgetTokens: 30, ChunkTokens: 20}, 20},
	} {
		t.Run(name, func(t *testing.T) {
			for _, cost := range []gpu.Costs{{}, {PrefillToken: 200e3, PrefillFar: 100e3, PrefillFarWide: 10e3, WideRows: 64}} {
				cfg := large()
				cfg.Costs = cost
				d := pace(t, cfg, answers{batch: func(*abi.State) abi.BatchPlan { return c.plan }}, 10e6, 200e3)
				d.chat(2, 500)
				d.add(d.now+1, &sched.Request{ID: 90, PromptTokens: 40_000, MaxTokens: 2})
				d.run(10e9)
				if got := d.prompt[len(d.prompt)/2]; got != c.want {
					t.Errorf("%d prompt tokens in a step, the policy said %d", got, c.want)
				}
			}
		})
	}
}

// ChunkTokens is the most, whatever fits the time.
func TestTheChunkHasAHardLimit(t *testing.T) {
	cfg := large()
	cfg.ChunkTokens = 96
	d := pace(t, cfg, nil, 1e6, 1e3)
	d.chat(2, 500)
	d.add(d.now+1, &sched.Request{ID: 90, PromptTokens: 10_000, MaxTokens: 2})
	d.run(10e9)
	if got := slices.Max(d.prompt); got != 96 {
		t.Errorf("up to %d prompt tokens beside decoding rows, the limit is 96", got)
	}
}

// Where nothing decodes a step is longer, but not so long that who arrives meanwhile waits for it for ever.
func TestAStepWithoutDecodingRowsIsBoundedToo(t *testing.T) {
	d := pace(t, large(), nil, 10e6, 200e3)
	d.add(d.now, &sched.Request{ID: 1, PromptTokens: 65536, MaxTokens: 1})
	d.run(60e9)
	if worst := slices.Max(d.took[2:]); worst > 200e6 || worst < 150e6 {
		t.Errorf("steps take up to %d ms, want 150 to 200", worst/1e6)
	}
}

// More prompts than have room beside the TPOT objective: steps grow as far as first tokens are late, so that nobody's TTFT grows without
// end, and half of the longest gap allowed is the end of that. Short prompts go before the long ones, however many of those have a place.
func TestStepsGrowWhereFirstTokensAreLate(t *testing.T) {
	for _, c := range []struct {
		name   string
		maxGap int64
		held   bool // nobody's first token takes more than 10 s
	}{
		{"a gap of 500 ms may be", 500e6, true},
		{"a gap of 140 ms may be", 140e6, true},
		{"a gap of 100 ms may be", 100e6, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := sched.DefaultConfig(32, 8192, 1<<20, 1<<21)
			for i := range cfg.SLO {
				cfg.SLO[i].MaxGapNS = c.maxGap
			}
			d := pace(t, cfg, nil, 12e6, 1e6) // beside 8 rows 45 ms have room for some 25 tokens: 550 a second
			chat := d.chat(8, 1<<18)
			firsts := slices.Concat(d.shortsAndLongs(240, 16))
			d.run(70e9)
			var gap int64
			for _, r := range chat {
				gap = max(gap, r.MaxGap)
			}
			if gap > c.maxGap/2 {
				t.Errorf("the longest gap was %d ms", gap/1e6)
			}
			late := 0
			for _, r := range firsts {
				wait := r.FirstToken - r.Arrival
				if r.FirstToken == 0 || wait > 10e9 {
					late++
				}
				if r.PromptTokens < 100 && (r.FirstToken == 0 || wait > 1e9) {
					t.Errorf("the short prompt %d waited for %d ms behind long ones", r.ID, wait/1e6)
				}
			}
			if (late == 0) != c.held {
				t.Errorf("%d of %d first tokens came after more than 10 s", late, len(firsts))
			}
		})
	}
}

// A token far from its sequence's beginning costs several at it. Steps are as long as with others, the oldest prompt has half of the
// time and not of the tokens, and what comes short beside it is not held up by the price of a long one.
func TestTheBudgetIsOfTimeAndNotOfTokens(t *testing.T) {
	cfg := sched.DefaultConfig(32, 8192, 1<<20, 1<<21)
	cfg.Costs = gpu.Costs{PrefillToken: 1e6, PrefillFar: 2500 * 1024}
	d := pace(t, cfg, nil, 12e6, 1e6)
	d.far = [2]int64{2500, 2500}
	chat := d.chat(8, 1<<18)
	shorts, longs := d.shortsAndLongs(160, 80)
	d.run(60e9)
	for _, r := range shorts {
		if wait := r.FirstToken - r.Arrival; r.FirstToken == 0 || wait > 500e6 {
			t.Errorf("the short prompt %d waited for %d ms", r.ID, wait/1e6)
		}
	}
	for _, r := range longs { // 2,000 tokens take 7 s alone, and prompts have two fifths of the time
		if wait := r.FirstToken - r.Arrival; r.FirstToken == 0 || wait > 19e9 {
			t.Errorf("the long prompt %d waited for %d ms", r.ID, wait/1e6)
		}
	}
	if worst := slices.Max(d.mixed[8:]); worst > 75e6 || chat[0].MaxGap > 75e6 {
		t.Errorf("steps take up to %d ms", worst/1e6)
	}
}

// A device that computes prompts at a better price in steps of 64 rows and more gets such steps, while nothing decodes that would wait
// for them, and while they fit the time.
func TestStepsAreAsWideAsTheDeviceLikesThem(t *testing.T) {
	cfg := large()
	cfg.Costs = gpu.Costs{PrefillToken: 1e6, PrefillFar: 5000 * 1024, PrefillFarWide: 2000 * 1024, WideRows: 64}
	cfg.Costs.Step[0][0] = 10e6
	d := pace(t, cfg, nil, 10e6, 1e6)
	d.far, d.wide = [2]int64{5000, 2000}, 64
	long := d.add(d.now, &sched.Request{ID: 1, PromptTokens: 6000, MaxTokens: 1})
	d.run(60e9)
	if long.FirstToken == 0 {
		t.Fatal("the prompt does not end")
	}
	// 64 tokens at position 6,000 take 842 ms, 4 targets are 180 ms: a narrow step would have 5 tokens, at 31 ms each.
	if got := slices.Max(d.took); got > 900e6 {
		t.Errorf("a step took %d ms", got/1e6)
	}
	if least := int64(6000 * (1e6 + 3000*2000)); long.FirstToken > least*5/4 {
		t.Errorf("the prompt took %d ms, and %d with the better price", long.FirstToken/1e6, least/1e6)
	}
}

// After ten seconds in which nothing ran a policy is asked again, however long its plan was to hold, and finds no figure from before.
func TestAnIdleSpellEndsPlansAndFigures(t *testing.T) {
	type seen struct {
		at   int64
		has  bool
		step int64
	}
	var asked []seen
	var d *paced
	d = pace(t, large(), answers{batch: func(s *abi.State) abi.BatchPlan {
		asked = append(asked, seen{d.now, s.Has(abi.StateHasMinStepNS), s.StepNS})
		return abi.BatchPlan{HoldSteps: 40}
	}}, 10e6, 200e3)
	d.chat(1, 100)
	for _, at := range []int64{5e9, 30e9} { // the first pause is short
		d.token *= 10
		d.add(at, &sched.Request{ID: uint64(at), PromptTokens: 8, MaxTokens: 100})
		d.run(at + 4e9)
	}
	var after []seen
	for _, a := range asked {
		if a.at >= 30e9 {
			after = append(after, a)
		} else if a.at > asked[0].at && !a.has {
			t.Errorf("no figure at %d ms", a.at/1e6)
		}
	}
	if len(after) < 2 || after[0].at > 30e9+20e6 || after[0].has {
		t.Fatalf("asked after the pause at %+v", after)
	}
	if got := after[1].step; got < 25e6 {
		t.Errorf("a step takes %d us on average, as before the pause", got/1e3)
	}
}
