package main

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/sluice-dev/sluice/policies/wasmtest"
	sluice "github.com/sluice-dev/sluice/sdk/go"
	"github.com/sluice-dev/sluice/sdk/go/sluicetest"
)

// server counts steps and drafts: accept of 100 drafts are accepted.
type server struct {
	p      *sluicetest.Policy
	st     sluice.State
	accept uint64
}

// The host knows nothing of its steps, so the policy's own rules decide; k is 7 unless the settings say otherwise.
func newServer(t testing.TB, settings ...string) *server {
	return &server{p: sluicetest.New(t, &policy{}, append([]string{"k", "7"}, settings...)...), st: sluice.State{KMax: 15}, accept: 60}
}

// step builds a step with so many requests, each of which drafts all that it may.
func (s *server) step(running uint32) sluice.SpecPlan {
	s.st.StepID++
	s.st.Running = running
	plan, _, _ := s.p.Speculate(&s.st)
	s.st.Drafted += uint64(plan.K * running)
	s.st.Accepted = s.st.Drafted * s.accept / 100
	return plan
}

// Above the threshold speculation is off in that very step; it comes back below the band, after the hold.
func TestThreshold(t *testing.T) {
	s := newServer(t)
	for i, c := range []struct {
		running uint32
		steps   int
		k       uint32
	}{
		{1, 3, 7}, {4, 3, 7}, {5, 1, 0}, {4, 100, 0}, {3, 16, 0}, {3, 5, 7}, {4, 50, 7}, {5, 1, 0}, {3, 10, 0}, {4, 1, 0}, {3, 16, 0}, {3, 1, 7},
	} {
		for n := range c.steps {
			if plan := s.step(c.running); plan.K != c.k {
				t.Fatalf("row %d, step %d: k is %d with %d running, not %d", i, n, plan.K, c.running, c.k)
			}
		}
	}
}

// However the batch hovers around the threshold, drafts are never made above it, and they do not come and go.
func TestDoesNotThrash(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := newServer(t, "hold_steps", "10")
		changes, was := 0, uint32(7)
		sizes := rapid.SliceOfN(rapid.Uint32Range(2, 6), 1, 200).Draw(rt, "sizes")
		for _, n := range sizes {
			k := s.step(n).K
			if n > 4 && k != 0 {
				rt.Fatalf("k is %d with %d running", k, n)
			}
			if k != was {
				changes++
			}
			was = k
		}
		if changes > 2+2*len(sizes)/11 {
			rt.Fatalf("%d changes in %d steps", changes, len(sizes))
		}
	})
}

func TestSettingsApply(t *testing.T) {
	for _, c := range []struct {
		settings []string
		running  uint32
		kMax     uint32
		want     uint32
	}{
		{nil, 4, 15, 7},
		{[]string{"k", "15"}, 1, 15, 15},
		{[]string{"k", "15"}, 1, 3, 3}, // the host's limit
		{nil, 1, 0, 0},                 // no drafter
		{[]string{"k", "0"}, 1, 15, 0},
		{[]string{"max_batch", "16"}, 16, 15, 7},
		{[]string{"max_batch", "1"}, 1, 15, 7},
		{[]string{"max_batch", "1"}, 2, 15, 0},
	} {
		s := newServer(t, c.settings...)
		s.st.KMax = c.kMax
		if plan := s.step(c.running); plan.K != c.want || plan.Probe != 0 {
			t.Errorf("%v: %+v, not k %d", c.settings, plan, c.want)
		}
	}
	if s := newServer(t, "max_batch", "1", "hold_steps", "0"); s.step(2).K != 0 || s.step(1).K != 7 {
		t.Error("at max_batch=1 speculation does not come back") // no band is possible there
	}
}

// Drafts that are rejected are given up, but for a probe now and then, and come back when they are accepted again.
func TestRejectedDrafts(t *testing.T) {
	s := newServer(t)
	for range 100 {
		if s.step(2).K != 7 {
			t.Fatal("drafts that are accepted are given up")
		}
	}
	s.accept = 0
	s.st.Accepted, s.st.Drafted = 0, 0 // the totals of another run: counting starts anew
	probes, last := 0, 0
	for i := range 1000 {
		plan := s.step(2)
		if i < 50 {
			continue
		}
		if plan.K == 0 {
			continue
		}
		if plan.Probe != 1 || plan.K != 7 {
			t.Fatalf("step %d drafts: %+v", i, plan)
		}
		if probes > 0 && i-last != 64 {
			t.Errorf("a probe at %d and then at %d", last, i)
		}
		probes, last = probes+1, i
	}
	if probes < 14 || probes > 15 {
		t.Errorf("%d probes in 950 steps", probes)
	}
	s.accept = 100
	for range 1000 {
		s.st.Accepted = s.st.Drafted // all drafts from here on
		s.step(2)
	}
	if plan := s.step(2); plan.K != 7 || plan.Probe != 0 {
		t.Errorf("speculation does not come back: %+v", plan)
	}
}

// The share is judged by enough drafts, and comes back a quarter above the limit: 10 % and 12.5 % of 32 drafts and more.
func TestAcceptance(t *testing.T) {
	a := newAcceptance(sluice.One / 10)
	drafted, accepted := uint64(1000), uint64(900)
	learn := func(d, ok uint64) bool {
		drafted, accepted = drafted+d, accepted+ok
		a.learn(drafted, accepted)
		return a.poor()
	}
	for i, s := range []struct {
		d, ok uint64
		poor  bool
	}{
		{0, 0, false}, // where it begins does not count
		{31, 0, false}, {1, 0, true}, {100, 20, true}, {100, 20, true}, {100, 20, true}, {100, 20, false},
		{100, 12, false}, {100, 12, false}, {100, 0, true}, {100, 12, true},
	} {
		if poor := learn(s.d, s.ok); poor != s.poor {
			mean, _ := a.mean.Value()
			t.Fatalf("sample %d: poor is %v at a mean of %d ppm", i, poor, mean)
		}
	}
	a = newAcceptance(sluice.One / 10)
	a.learn(1000, 500)
	a.learn(10, 5) // another run of the host
	a.learn(1010, 505)
	if mean, _ := a.mean.Value(); mean != sluice.One/2 {
		t.Errorf("the mean is %d ppm after the totals went back", mean)
	}
}

// min_accept=0 speculates whatever becomes of the drafts.
func TestNeverPoor(t *testing.T) {
	s := newServer(t, "min_accept", "0")
	s.accept = 0
	for i := range 200 {
		if plan := s.step(2); plan.K != 7 || plan.Probe != 0 {
			t.Fatalf("step %d: %+v", i, plan)
		}
	}
}

// A large batch is not probed: its size alone keeps speculation off.
func TestNoProbeInALargeBatch(t *testing.T) {
	s := newServer(t)
	s.accept = 0
	for i := range 500 {
		if plan := s.step(8); plan != (sluice.SpecPlan{}) {
			t.Fatalf("step %d: %+v", i, plan)
		}
	}
}

// Where the host knows what its steps take, each request drafts what pays, within the settings.
func TestTakesWhatPays(t *testing.T) {
	pays := func(k uint32) sluice.Row {
		return sluice.Row{SpeculationAllowed: 1, Valid: sluice.RowHasKGoodput, KGoodput: k}
	}
	for _, c := range []struct {
		settings []string
		running  uint32
		kMax     uint32
		k        uint32
		rows     []int32
	}{
		{nil, 3, 15, 15, []int32{9, 0, 15}},
		{nil, 200, 15, 15, []int32{9, 0, 15}}, // a large batch as well
		{[]string{"k", "4"}, 3, 15, 4, []int32{4, 0, 4}},
		{nil, 3, 10, 10, []int32{9, 0, 10}}, // the host's limit
		{[]string{"max_batch", "8"}, 8, 15, 15, []int32{9, 0, 15}},
		{[]string{"max_batch", "8"}, 9, 15, 0, []int32{-1, -1, -1}},
	} {
		p := sluicetest.New(t, &policy{}, c.settings...)
		plan, k, decided := p.Speculate(&sluice.State{KMax: c.kMax, Running: c.running}, pays(9), pays(0), pays(15))
		if !decided || plan.K != c.k || !slices.Equal(k, c.rows) || plan.Probe != 0 {
			t.Errorf("%v, %d running: %+v, rows %v", c.settings, c.running, plan, k)
		}
	}
}

// Rejected drafts are the host's to judge while it knows its steps.
func TestRejectedDraftsAreTheHostsToJudge(t *testing.T) {
	p := sluicetest.New(t, &policy{})
	row := sluice.Row{SpeculationAllowed: 1, Valid: sluice.RowHasKGoodput, KGoodput: 1}
	for step := range uint64(300) {
		plan, k, _ := p.Speculate(&sluice.State{KMax: 15, Running: 1, StepID: step, Drafted: 100 * step}, row)
		if plan.Probe != 0 || k[0] != 1 {
			t.Fatalf("step %d: %+v, %v", step, plan, k)
		}
	}
}

func TestOptOut(t *testing.T) {
	p := sluicetest.New(t, &policy{})
	_, k, decided := p.Speculate(&sluice.State{KMax: 15, Running: 3},
		sluice.Row{SpeculationAllowed: 1}, sluice.Row{}, sluice.Row{SpeculationAllowed: 1})
	if !decided || !slices.Equal(k, []int32{-1, 0, -1}) {
		t.Errorf("k is %v, decided %v", k, decided)
	}
}

func TestSettings(t *testing.T) {
	for key, bad := range map[string]string{
		"max_batch": "-1", "k": "16", "band": "-1", "hold_steps": "x", "min_accept": "1.1", "probe_every": "0", "n": "4",
	} {
		if err := sluicetest.Configure(&policy{}, map[string]string{key: bad}); err == nil {
			t.Errorf("%s=%s is taken", key, bad)
		}
	}
}

func TestDoesNotAllocate(t *testing.T) {
	p := sluicetest.New(t, &policy{})
	st := &sluice.State{KMax: 15, Running: 3}
	if n := p.Allocs(st, sluice.Row{}, sluice.Row{SpeculationAllowed: 1}); n != 0 {
		t.Errorf("%v allocations a call", n)
	}
}

// The module that ships decides what this source decides, in memory that does not grow.
func TestModule(t *testing.T) {
	m := wasmtest.Compile(t, wasmtest.Shipped(t, "spec-off"))
	wasmtest.Same(t, m, func() any { return &policy{} },
		nil, []string{"max_batch", "16", "k", "9", "hold_steps", "2"}, []string{"min_accept", "0.9", "probe_every", "2"})
	g := m.Start(t)
	if err := g.Configure(nil); err != nil {
		t.Fatal(err)
	}
	wasmtest.Flat(t, g, 100_000)
}
