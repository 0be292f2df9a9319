package main

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/sluice-dev/sluice/policies/wasmtest"
	sluice "github.com/sluice-dev/sluice/sdk/go"
	"github.com/sluice-dev/sluice/sdk/go/sluicetest"
)

const ms = sluice.Millisecond

// server is a device whose time per token grows with the batch, under demand for any number of places.
type server struct {
	p       *sluicetest.Policy
	step    uint64
	running uint32
	hard    uint32
	demand  uint32
	tpot    func(running uint32) int64
}

// run builds n steps, asking the policy as often as it wants to be asked. The batch follows the cap at once upwards, and
// by one request every ten steps downwards.
func (s *server) run(t testing.TB, n int) (cap uint32) {
	t.Helper()
	for end := s.step + uint64(n); s.step < end; {
		st := &sluice.State{StepID: s.step, MaxNumSeqs: s.hard, Running: s.running}
		if s.running > 0 {
			st.ITLP50NS, st.Valid = s.tpot(s.running), sluice.StateHasITLP50NS
		}
		plan, decided := s.p.BatchCap(st)
		if !decided {
			t.Fatal("it abstains")
		}
		cap = plan.MaxSeqs
		if cap < 1 || cap > s.hard {
			t.Fatalf("the cap is %d of %d", cap, s.hard)
		}
		for range plan.HoldSteps + 1 {
			s.step++
			want := min(cap, s.demand)
			if s.running < want {
				s.running = want
			} else if s.running > want && s.step%10 == 0 {
				s.running--
			}
		}
	}
	return cap
}

func linear(base, each int64) func(uint32) int64 {
	return func(running uint32) int64 { return base + each*int64(running) }
}

func newServer(t testing.TB, tpot func(uint32) int64, settings ...string) *server {
	return &server{p: sluicetest.New(t, &policy{}, settings...), hard: 64, demand: 1000, tpot: tpot, step: 1}
}

// The cap comes to where the target is held and stays near it: 10 + 2n ms is 50 ms at 20.
func TestFollowsTheTarget(t *testing.T) {
	s := newServer(t, linear(10*ms, 2*ms))
	s.run(t, 3000)
	least, most := uint32(math.MaxUint32), uint32(0)
	for range 100 {
		cap := s.run(t, 16)
		least, most = min(least, cap), max(most, cap)
	}
	if least < 14 || most > 21 {
		t.Errorf("the cap moves between %d and %d, and 20 would be right", least, most)
	}
}

// In the band below the target the cap stays where it is.
func TestHoldsInTheBand(t *testing.T) {
	s := newServer(t, linear(46*ms, 0))
	s.run(t, 100)
	for range 50 {
		if cap := s.run(t, 16); cap != 64 {
			t.Fatalf("the cap went to %d", cap)
		}
	}
}

// A faster device gets a larger batch, and a slower one a smaller one again.
func TestFollowsTheDevice(t *testing.T) {
	s := newServer(t, linear(10*ms, 10*ms))
	slow := s.run(t, 3000)
	s.tpot = linear(10*ms, ms)
	fast := s.run(t, 3000)
	s.tpot = linear(10*ms, 10*ms)
	again := s.run(t, 3000)
	if slow > 4 || fast < 30 || again > 4 {
		t.Errorf("caps %d, %d, %d", slow, fast, again)
	}
}

// A cap that does not limit anything is not raised: it would be far too high when the load comes.
func TestRaisesOnlyWhatLimits(t *testing.T) {
	s := newServer(t, linear(10*ms, 10*ms))
	before := s.run(t, 3000)
	s.demand, s.running = 1, 1
	s.tpot = linear(10*ms, 0)
	if after := s.run(t, 3000); after != before {
		t.Errorf("the cap went from %d to %d while one request ran", before, after)
	}
}

// Running requests end in their own time. Meanwhile the cap is not cut again for what they cause.
func TestWaitsForACut(t *testing.T) {
	p := sluicetest.New(t, &policy{}, "hold_steps", "1")
	ask := func(step uint64, running uint32, ns int64) uint32 {
		plan, _ := p.BatchCap(&sluice.State{StepID: step, MaxNumSeqs: 16, Running: running, ITLP50NS: ns, Valid: sluice.StateHasITLP50NS})
		return plan.MaxSeqs
	}
	for _, s := range []struct {
		step    uint64
		running uint32
		ns      int64
		want    uint32
	}{
		{1, 16, 90 * ms, 16},   // the first step only begins the count
		{2, 16, 90 * ms, 12},   // over the target: 16 * 0.75
		{3, 16, 90 * ms, 12},   // still 16 of them
		{500, 13, 90 * ms, 12}, // still 13
		{501, 12, 90 * ms, 12}, // the measure has the past in it
		{563, 12, 90 * ms, 12},
		{564, 12, 90 * ms, 9},  // 64 steps after the batch had come down
		{565, 9, 40 * ms, 10},  // under the target: one more
		{566, 9, 40 * ms, 10},  // which is not used
		{567, 10, 45 * ms, 10}, // the band
		{568, 10, 50 * ms, 10},
		{569, 10, 44 * ms, 11},
		{690, 0, 90 * ms, 11}, // nothing runs: the measure is of the past
		{700, 2, 90 * ms, 1},  // cut from what runs, not from what might
		{801, 1, 40 * ms, 2},
	} {
		if got := ask(s.step, s.running, s.ns); got != s.want {
			t.Fatalf("step %d: the cap is %d, not %d", s.step, got, s.want)
		}
	}
}

// The policy is asked again when it will decide again.
func TestHolds(t *testing.T) {
	for settings, want := range map[string]uint32{"1": 0, "16": 15} {
		p := sluicetest.New(t, &policy{}, "hold_steps", settings)
		if plan, _ := p.BatchCap(&sluice.State{MaxNumSeqs: 4}); plan.HoldSteps != want {
			t.Errorf("hold_steps=%s holds for %d further steps", settings, plan.HoldSteps)
		}
	}
	p := sluicetest.New(t, &policy{})
	for step := uint64(1); step <= 17; step++ { // a host that asks at every step all the same
		plan, _ := p.BatchCap(&sluice.State{StepID: step, MaxNumSeqs: 16, Running: 16, ITLP50NS: 90 * ms, Valid: sluice.StateHasITLP50NS})
		if want := uint32(16); step < 17 && plan.MaxSeqs != want || step == 17 && plan.MaxSeqs == want {
			t.Errorf("step %d: the cap is %d", step, plan.MaxSeqs)
		}
	}
}

// The batch is judged by the steps without prompts, or by the shortest step where there are none, or by a token where that is
// less. What prompts add to a step cuts nothing, for however long, and a batch that is too slow by itself is cut.
func TestMeasures(t *testing.T) {
	const decode, least, token = sluice.StateHasDecodeStepP50NS, sluice.StateHasMinStepNS, sluice.StateHasITLP50NS
	for _, c := range []struct {
		name                   string
		valid                  uint64
		decodeMS, minMS, itlMS int64
		falls                  bool
	}{
		{"no figure at all", 0, 90, 90, 90, false},
		{"each step has prompts", least | token, 90, 40, 90, false},
		{"each step has prompts, and the shortest is too long", least | token, 40, 90, 95, true},
		{"some steps have prompts", decode | least | token, 40, 30, 90, false},
		{"steps without prompts are too long", decode | token, 90, 40, 95, true},
		{"one step was short", decode | least | token, 90, 40, 95, true},
		{"drafts are accepted", decode | least | token, 90, 85, 20, false},
		{"drafts are accepted, and each step has prompts", least | token, 40, 90, 20, false},
		{"no token yet", decode, 90, 40, 40, true},
		{"no token yet, and each step has prompts", least, 40, 90, 40, true},
		{"tokens alone", token, 40, 40, 90, true},
		{"quick tokens alone", token, 90, 90, 40, false},
	} {
		p := sluicetest.New(t, &policy{}, "tpot", "75ms")
		st := &sluice.State{
			MaxNumSeqs: 16, Running: 16, Valid: c.valid, DecodeStepP50NS: c.decodeMS * ms, MinStepNS: c.minMS * ms, ITLP50NS: c.itlMS * ms,
		}
		lowest := uint32(16)
		for st.StepID = 1; st.StepID < 1000; st.StepID++ {
			plan, _ := p.BatchCap(st)
			lowest = min(lowest, plan.MaxSeqs)
			st.Running = min(st.Running, plan.MaxSeqs)
		}
		if falls := lowest < 16; falls != c.falls {
			t.Errorf("%s: the lowest cap is %d", c.name, lowest)
		}
	}
}

// Without figures nothing is known of the load that comes: it begins at the ceiling, and is judged when it has run for as long
// as any other.
func TestForgetsWithoutFigures(t *testing.T) {
	for _, c := range []struct {
		ceiling string
		want    uint32
	}{{"0", 64}, {"40", 40}} {
		s := newServer(t, linear(10*ms, 10*ms), "ceiling", c.ceiling)
		if cap := s.run(t, 3000); cap > 4 {
			t.Fatalf("the cap is %d", cap)
		}
		ask := func(step uint64, valid uint64) uint32 {
			plan, _ := s.p.BatchCap(&sluice.State{StepID: step, MaxNumSeqs: 64, Running: 30, Valid: valid, ITLP50NS: 90 * ms})
			return plan.MaxSeqs
		}
		cut := s.step // the batch is above the cap, so a cut is put off until it has come down and settled
		ask(cut, sluice.StateHasITLP50NS)
		if cap := ask(cut+1, 0); cap != c.want {
			t.Errorf("without figures the cap is %d, not %d", cap, c.want)
		}
		if cap := ask(cut+16, sluice.StateHasITLP50NS); cap != c.want {
			t.Errorf("the cap is %d before hold_steps are over", cap)
		}
		if cap := ask(cut+17, sluice.StateHasITLP50NS); cap != 22 {
			t.Errorf("after hold_steps the cap is %d, not three quarters of what runs", cap)
		}
	}
}

// What the cap had come to survives a swap, inside the new version's bounds. Anything else that is restored is refused.
func TestSwap(t *testing.T) {
	s := newServer(t, linear(10*ms, 2*ms))
	before := s.run(t, 3000)
	saved := s.p.Save()
	for _, c := range []struct {
		settings []string
		want     uint32
	}{{nil, before}, {[]string{"ceiling", "8"}, 8}, {[]string{"floor", "32"}, 32}} {
		next := sluicetest.New(t, &policy{}, c.settings...)
		if err := next.Restore(saved); err != nil {
			t.Fatal(err)
		}
		plan, _ := next.BatchCap(&sluice.State{StepID: s.step, MaxNumSeqs: 64, Running: 1, ITLP50NS: 48 * ms, Valid: sluice.StateHasITLP50NS})
		if plan.MaxSeqs != c.want {
			t.Errorf("%v: the cap is %d, not %d", c.settings, plan.MaxSeqs, c.want)
		}
	}
	late := sluicetest.New(t, &policy{}, "hold_steps", "1")
	if err := late.Restore(saved); err != nil { // into a host whose steps begin anew, as after a restart
		t.Fatal(err)
	}
	hot := &sluice.State{MaxNumSeqs: 64, Running: before, ITLP50NS: 90 * ms, Valid: sluice.StateHasITLP50NS}
	for hot.StepID = 1; hot.StepID < 3; hot.StepID++ {
		late.BatchCap(hot)
	}
	if plan, _ := late.BatchCap(hot); plan.MaxSeqs >= before {
		t.Errorf("the cap stays at %d over the target", plan.MaxSeqs)
	}
	same := sluicetest.New(t, &policy{}, "hold_steps", "1")
	if err := same.Restore(saved); err != nil {
		t.Fatal(err)
	}
	hot.StepID = s.step
	if plan, _ := same.BatchCap(hot); plan.MaxSeqs != before {
		t.Errorf("the cap is cut to %d by what was measured before the swap", plan.MaxSeqs)
	}
	for _, bad := range [][]byte{nil, {1}, make([]byte, 13), append(saved, 0)} {
		if err := sluicetest.New(t, &policy{}).Restore(bad); err == nil {
			t.Errorf("%v is restored", bad)
		}
	}
	if first := sluicetest.New(t, &policy{}).Save(); len(first) != 0 {
		t.Errorf("a policy that was never asked saves %v", first)
	}
}

// Whatever is measured and restored, the cap lies between floor and ceiling and within the host's limit.
func TestBounds(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		p := sluicetest.New(t, &policy{}, "floor", "3", "ceiling", "40", "hold_steps", "1", "increase", "7")
		_ = p.Restore(rapid.SliceOfN(rapid.Byte(), 0, 14).Draw(rt, "saved"))
		for range rapid.IntRange(1, 20).Draw(rt, "steps") {
			st := &sluice.State{
				StepID: rapid.Uint64().Draw(rt, "step"), MaxNumSeqs: rapid.Uint32Range(0, 64).Draw(rt, "hard"),
				Running: rapid.Uint32().Draw(rt, "running"), ITLP50NS: rapid.Int64().Draw(rt, "ns"), Valid: rapid.Uint64().Draw(rt, "valid"),
				DecodeStepP50NS: rapid.Int64().Draw(rt, "decode"), MinStepNS: rapid.Int64().Draw(rt, "least"),
			}
			high := max(1, min(40, st.MaxNumSeqs))
			plan, _ := p.BatchCap(st)
			if plan.MaxSeqs < min(3, high) || plan.MaxSeqs > high {
				rt.Fatalf("the cap is %d of %d", plan.MaxSeqs, high)
			}
		}
	})
}

func TestSettings(t *testing.T) {
	for _, bad := range []map[string]string{
		{"tpot": "0"}, {"floor": "0"}, {"ceiling": "-1"}, {"band": "1"}, {"increase": "0"}, {"decrease": "1"}, {"hold_steps": "0"},
		{"settle_steps": "-1"}, {"floor": "9", "ceiling": "8"}, {"target": "50ms"},
	} {
		if err := sluicetest.Configure(&policy{}, bad); err == nil {
			t.Errorf("%v is taken", bad)
		}
	}
}

func TestDoesNotAllocate(t *testing.T) {
	p := sluicetest.New(t, &policy{}, "hold_steps", "1")
	st := &sluice.State{MaxNumSeqs: 16, Running: 16, ITLP50NS: 90 * ms, Valid: sluice.StateHasITLP50NS}
	if n := p.Allocs(st); n != 0 {
		t.Errorf("%v allocations a call", n)
	}
}

// The module that ships decides what this source decides, in memory that does not grow, and says when the target cannot
// be held.
func TestModule(t *testing.T) {
	m := wasmtest.Compile(t, wasmtest.Shipped(t, "tpot-cap"))
	wasmtest.Same(t, m, func() any { return &policy{} },
		nil, []string{"hold_steps", "1", "settle_steps", "0"}, []string{"floor", "4", "ceiling", "12", "tpot", "30ms", "hold_steps", "2"})
	g := m.Start(t)
	if err := g.Configure(map[string]string{"hold_steps": "1", "floor": "4"}); err != nil {
		t.Fatal(err)
	}
	for step := range uint64(1000) {
		g.BatchCap(&sluice.State{StepID: step, MaxNumSeqs: 4, Running: 4, ITLP50NS: 60 * ms, Valid: sluice.StateHasITLP50NS})
	}
	if logs := g.Logs(); len(logs) != 1 || logs[0] != "tpot=50000us is not held even at max_seqs=4: 60000us" {
		t.Errorf("it logs %q", logs)
	}
	wasmtest.Flat(t, g, 100_000)
}
