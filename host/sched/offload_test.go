package sched_test

import (
	"slices"
	"testing"

	"github.com/sluice-dev/sluice/gpu"
	"github.com/sluice-dev/sluice/host/sched"
)

// offloading is a device of two places and 24 blocks of four tokens that saves cheaply.
func offloading(t *testing.T, change func(*sched.Config)) *rig {
	t.Helper()
	return newRig(t, kvConfig(2, 24, func(c *sched.Config) {
		c.CopyMin, c.SpareSeqs, c.SharedKV = 4, 4, true
		c.MaxSaved, c.Costs = 200, gpu.Costs{PrefillToken: 10, SaveToken: 2}
		if change != nil {
			change(c)
		}
	}), nil)
}

// push has a request of 80 tokens take nearly all KV blocks, and end.
func (g *rig) push(id uint64) { g.ask(id, tokens(int(id), 80), 2) }

// A prefix that had to go comes back from outside the device, and the answer is the same.
func TestAPrefixThatHadToGoComesBack(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*sched.Config)
		cached int
	}{
		"offloaded":            {nil, 12},
		"computing is cheaper": {func(c *sched.Config) { c.Costs.SaveToken = 11 }, 0},
		"nothing is measured":  {func(c *sched.Config) { c.Costs = gpu.Costs{} }, 0},
		"there is no room":     {func(c *sched.Config) { c.MaxSaved = 11 }, 0},
		"places only":          {func(c *sched.Config) { c.CopyMin, c.SpareSeqs, c.SharedKV = 0, 0, false }, 12},
	} {
		t.Run(name, func(t *testing.T) {
			g := offloading(t, c.change)
			g.ask(1, tokens(1, 16), 6)
			g.push(50)
			g.push(51)
			again := g.ask(2, tokens(1, 16), 6)
			if st := g.core.Stats(); again.Cached != c.cached || int(st.ReloadedTokens) != c.cached || st.PrefixHits != uint64(c.cached) {
				t.Errorf("%d tokens were cached, %d reloaded, %d counted as found; want %d", again.Cached, st.ReloadedTokens, st.PrefixHits, c.cached)
			}
			if want := alone(t, tokens(1, 16), 6); !slices.Equal(g.outputs[2], want) {
				t.Errorf("answered %v, want %v", g.outputs[2], want)
			}
		})
	}
}

// A conversation is kept once, at its longest; a text that leaves it in the middle takes the part that they have in common.
func TestAConversationIsOffloadedOnce(t *testing.T) {
	g := offloading(t, nil)
	g.ask(1, tokens(1, 16), 6)
	g.push(50)
	turn := shared(shared(tokens(1, 16), g.outputs[1]...), 'n', 'e', 'x', 't')
	g.ask(2, turn, 6)
	g.push(51)
	if len(g.saved) == 0 || g.ops[sched.OpForget] == 0 {
		t.Errorf("%d are kept, %d were forgotten; want the first turn to make room for the second", len(g.saved), g.ops[sched.OpForget])
	}
	if r := g.ask(3, shared(turn, 'x'), 2); r.Cached != 24 {
		t.Errorf("%d tokens of the conversation were cached, want 24", r.Cached)
	}
	g.push(52)
	if r := g.ask(4, shared(turn[:13], 'q', 'q', 'q', 'q'), 2); r.Cached != 12 {
		t.Errorf("%d tokens of the beginning were cached, want 12", r.Cached)
	}
}

// What is wanted stays, and what is not makes room.
func TestTheOffloadedPrefixWantedLongestAgoMakesRoom(t *testing.T) {
	g := offloading(t, func(c *sched.Config) { c.MaxSaved = 130 }) // the two small ones, and one that pushes
	g.ask(1, tokens(1, 12), 5)
	g.ask(2, tokens(2, 12), 5)
	for i := range uint64(3) {
		g.push(50 + 10*i)
		if r := g.ask(10+i, tokens(1, 12), 5); r.Cached != 8 {
			t.Errorf("round %d: %d tokens were cached, want 8", i, r.Cached)
		}
	}
	g.push(90)
	if r := g.ask(20, tokens(2, 12), 5); r.Cached != 0 {
		t.Errorf("%d tokens of what nobody wanted are still there", r.Cached)
	}
}

// A device that cannot save, or loses what it saved, costs time only; what it does not have is not asked for again.
func TestAnOffloadedPrefixThatIsNotThereIsComputed(t *testing.T) {
	for name, spoil := range map[string]func(g *rig){
		"save fails":     func(g *rig) { g.save = func() bool { return true } },
		"opened anew":    func(g *rig) { g.watch = nil },
		"memory is rare": func(g *rig) { g.core.SetPressure(sched.Pressure{NoSaved: true}) },
		"no cache":       func(g *rig) { g.core.SetPressure(sched.Pressure{NoCache: true}) },
	} {
		t.Run(name, func(t *testing.T) {
			g := offloading(t, nil)
			g.ask(1, tokens(1, 16), 6)
			spoil(g)
			g.push(50)
			g.push(51)
			if name == "opened anew" {
				g.core.DropKV(g.now)
				g.reopen()
			}
			if r := g.ask(2, tokens(1, 16), 6); r.Cached != 0 || !slices.Equal(g.outputs[2], alone(t, tokens(1, 16), 6)) {
				t.Errorf("%d tokens were cached; answered %v", r.Cached, g.outputs[2])
			}
		})
	}
}

// A prefix that turns out to be another text's is forgotten: whoever comes next is not fooled again.
func TestAnOffloadedPrefixThatIsWrongIsForgotten(t *testing.T) {
	g := offloading(t, nil)
	g.ask(1, tokens(1, 16), 6)
	g.push(50)
	g.push(51)
	g.lost = func(id uint64) bool { g.lost = nil; return id == 2 }
	if r := g.ask(2, tokens(1, 16), 6); r.Cached != 12 || r.TokensLost == 0 || !slices.Equal(g.outputs[2], alone(t, tokens(1, 16), 6)) {
		t.Errorf("%d tokens were cached, %d lost; answered %v", r.Cached, r.TokensLost, g.outputs[2])
	}
	reloaded := g.core.Stats().ReloadedTokens
	g.push(52)
	g.ask(3, tokens(1, 16), 6)
	if n := g.core.Stats().ReloadedTokens - reloaded; n != 0 {
		t.Errorf("%d tokens reloaded again", n)
	}
}

// Where each row looks at all that is held and nothing can be saved, what nothing runs on goes before it lengthens a step by more than 2 %.
func TestPrefixesThatSlowTheStepsLeaveTheDevice(t *testing.T) {
	for held, most := range map[int64][2]int{0: {100, 100}, 1e3: {5, 10}, 1e6: {0, 0}} { // blocks beside one row and beside two
		g := newRig(t, kvConfig(2, 100, func(c *sched.Config) {
			c.CopyMin, c.SpareSeqs, c.SharedKV = 4, 8, true
			c.Costs = gpu.Costs{PrefillToken: 1e6, HeldToken: held}
			c.Costs.Step[0][0], c.Costs.Step[1][0] = 1e6, 4e6
		}), nil)
		for id := range 6 {
			g.ask(uint64(1+id), tokens(id, 16), 4)
		}
		var seen [2]int
		g.watch = func(b *sched.Batch) {
			if n := len(b.Rows); b.Rows[0].Tokens == 1 && b.Rows[n-1].Tokens == 1 {
				seen[n-1] = max(seen[n-1], g.core.BlocksCached())
			}
		}
		g.arrive(&sched.Request{ID: 20, MaxTokens: 9}, tokens(20, 2))
		g.step()
		g.step()
		g.arrive(&sched.Request{ID: 21, MaxTokens: 4}, tokens(21, 2))
		g.run()
		if held == 0 && seen[0] < 20 {
			t.Errorf("nothing is slow, and %d blocks are cached", seen[0])
		}
		for i, n := range seen {
			if n > most[i] || held > 0 && n == 0 && most[i] > 0 {
				t.Errorf("at %d ns %d blocks are cached beside %d rows, want at most %d", held, n, i+1, most[i])
			}
		}
		g.watch = nil
		if r := g.ask(30, tokens(2, 16), 4); held == 0 && r.Cached != 12 {
			t.Errorf("%d tokens were found again, want 12", r.Cached)
		}
	}
}

// What the device gives up again, and is still kept, is not saved a second time.
func TestWhatIsKeptIsNotSavedAgain(t *testing.T) {
	g := offloading(t, nil)
	saves := 0
	g.watch = func(b *sched.Batch) {
		for _, op := range b.Ops {
			if op.Kind == sched.OpSave && op.Tokens <= 20 {
				saves++
			}
		}
	}
	g.ask(1, tokens(1, 16), 6)
	for round := range uint64(3) {
		g.push(50 + 10*round)
		g.push(51 + 10*round)
		if r := g.ask(2+round, tokens(1, 16), 1); r.Cached != 12 {
			t.Errorf("round %d: %d tokens were cached, want 12", round, r.Cached)
		}
	}
	if saves != 1 {
		t.Errorf("one text was saved %d times", saves)
	}
}

// A conversation that has become too long to be kept leaves what was kept of it before.
func TestATextWithoutRoomLeavesItsBeginningWhereItIs(t *testing.T) {
	g := offloading(t, func(c *sched.Config) { c.MaxSaved = 24 })
	g.ask(1, tokens(1, 16), 6)
	g.push(50)
	turn := shared(shared(tokens(1, 16), g.outputs[1]...), 'n', 'e', 'x', 't')
	for id := uint64(2); id < 4; id++ {
		if r := g.ask(id, turn, 6); r.Cached != 20 {
			t.Errorf("request %d: %d tokens were cached, want 20", id, r.Cached)
		}
		g.push(50 + id)
	}
}

// While there are no KV blocks for a whole offloaded text, its beginning is shared with whoever runs on it.
func TestARequestEntersOnASharedPrefixWhereAnOffloadedOneDoesNotFit(t *testing.T) {
	g := offloading(t, nil)
	text := tokens(1, 80)
	g.ask(1, text, 2)
	g.push(50)
	g.arrive(&sched.Request{ID: 2, MaxTokens: 12}, shared(text[:40], 'x'))
	g.step()
	r := &sched.Request{ID: 3, MaxTokens: 4}
	g.arrive(r, text)
	g.step()
	g.step()
	if g.ended[2] != nil || r.Scheduled == 0 || r.Cached != 40 {
		t.Errorf("%d tokens were cached when it was scheduled at %d; want the 40 of the request that runs", r.Cached, r.Scheduled)
	}
	g.run()
}

// What slows the steps leaves the device before a newcomer computes its prompt: at once where nothing decodes, else as much as can be
// saved in the time of a step, but one at least.
func TestPrefixesThatSlowTheStepsAreSaved(t *testing.T) {
	for name, c := range map[string]struct {
		save     int64 // ns a token; a prefix has 16 to 24 of them
		prefixes int   // of 7 requests; one that is left decodes, in steps of 10 ms
		most     int   // saved in a step
		steps    int   // until all are
	}{
		"in less than a step":      {2e3, 6, 6, 1},
		"three in more than one":   {200e3, 6, 3, 2},
		"one in more than one":     {900e3, 6, 1, 6},
		"where nobody has a token": {900e3, 7, 7, 1},
	} {
		t.Run(name, func(t *testing.T) {
			g := newRig(t, kvConfig(8, 100, func(cfg *sched.Config) {
				cfg.CopyMin, cfg.SpareSeqs, cfg.SharedKV = 4, 8, true
				cfg.MaxSaved, cfg.Costs = 400, gpu.Costs{PrefillToken: 2e6, SaveToken: c.save, HeldToken: 1e3}
				cfg.Costs.Step[0][0] = 10e6
			}), nil)
			for id := range 7 {
				g.arrive(&sched.Request{ID: uint64(1 + id), MaxTokens: 60}, tokens(id, 16))
			}
			for decoding := 0; decoding < 7; {
				decoding = 0
				for _, row := range g.rows() {
					if row.Tokens == 1 {
						decoding++
					}
				}
			}
			for id := range uint64(c.prefixes) {
				g.core.Cancel(g.now, 1+id, sched.OutcomeCancelledRunning)
			}
			g.arrive(&sched.Request{ID: 20, MaxTokens: 40}, tokens(20, 2))
			var steps, saves int
			for range 20 {
				g.step()
				n := g.ops[sched.OpSave] - saves
				if saves += n; n > 0 {
					steps++
				}
				if n > c.most {
					t.Errorf("a step saves %d prefixes, want at most %d", n, c.most)
				}
			}
			if n := g.core.BlocksCached(); n > 0 || saves != c.prefixes || steps != c.steps {
				t.Errorf("%d blocks are cached after 20 steps, %d prefixes were saved in %d of them; want none, %d, %d", n, saves, steps, c.prefixes, c.steps)
			}
			if r := g.ask(30, tokens(0, 16), 1); r.Cached != 12 {
				t.Errorf("%d tokens were found again, want 12", r.Cached)
			}
		})
	}
}

// A prefix that the device is to save in a step is not asked for in that step, or in the next one if it could not.
func TestAPrefixComesBackOnceItWasSaved(t *testing.T) {
	for _, fails := range []bool{false, true} {
		g := offloading(t, func(c *sched.Config) { c.CopyMin, c.SpareSeqs, c.SharedKV = 0, 0, false })
		g.ask(1, tokens(1, 16), 6)
		g.ask(9, tokens(9, 8), 1)
		g.arrive(&sched.Request{ID: 2, MaxTokens: 9}, tokens(2, 8)) // takes the first one's place
		g.save = func() bool { return fails }
		g.arrive(&sched.Request{ID: 3, MaxTokens: 2}, tokens(1, 16))
		for g.ops[sched.OpSave] == 0 {
			g.step()
		}
		if n := g.ops[sched.OpRestore]; n != 0 {
			t.Errorf("save fails %v: %d restored in the step that saves", fails, n)
		}
		g.run()
		want := 12
		if fails {
			want = 0
		}
		if r := g.ended[3]; r.Cached != want || r.Preemptions != 0 {
			t.Errorf("save fails %v: %d tokens were cached, want %d; %d preemptions", fails, r.Cached, want, r.Preemptions)
		}
	}
}
