package goodput

import (
	"fmt"
	"slices"
	"testing"

	"github.com/sluice-dev/sluice/gpu"
	"pgregory.net/rapid"
)

// Whatever is accepted and however the batch hovers around the size at which drafts stop paying, a step with this control is not slower
// than without drafts. The machine is the measured one.
func TestNoLossAroundTheThreshold(t *testing.T) {
	sizes := map[string]func(int) int{
		"1": always(1), "2": always(2), "4": always(4), "8": always(8), "16": always(16), "64": always(64),
		"3 to 6": func(i int) int { return 3 + i/7%4 },
		"1 to 8": func(i int) int { return 1 + i%8 },
	}
	for name, size := range sizes {
		for a := 0; a <= 9; a++ {
			accept := float64(a) / 10
			plain := newWorld(measured(cpuNS), cpuNS, accept).fixed(4000, 0, size)
			w := newWorld(measured(cpuNS), cpuNS, accept)
			if got := w.run(4000, size); got < 0.98*plain {
				t.Errorf("%s running, acceptance %.1f: %.0f tokens/s, %.0f without drafts (%d steps with)", name, accept, got, plain, w.drafted)
			}
		}
	}
}

// With steady traffic it comes near the best fixed number of drafts, zero included. With nothing measured it only climbs: it does not
// find that more drafts would be cheaper than a few, as they are on the CPU. Beyond the sizes that are measured it may draft less than
// would pay where the cost of drafts changes there; it still loses nothing, see TestNoLossAroundTheThreshold.
func TestComesNearTheBestFixedNumber(t *testing.T) {
	for _, machine := range []struct {
		name  string
		ns    func(int, float64) float64
		sizes []int
	}{{"cpu", cpuNS, []int{1, 4, 8}}, {"gpu", gpuNS, []int{1, 4, 8, 16, 64}}} {
		for _, size := range machine.sizes {
			for _, accept := range []float64{0, 0.3, 0.5, 0.7, 0.9} {
				best, at := 0.0, 0
				for _, k := range []int{0, 1, 2, 3, 5, 7, 11, 15} {
					if x := newWorld(gpu.Costs{}, machine.ns, accept).fixed(3000, k, always(size)); x > best {
						best, at = x, k
					}
				}
				for _, known := range []struct {
					what  string
					table gpu.Costs
					least float64
				}{{"measured", measured(machine.ns), 0.93}, {"nothing measured", gpu.Costs{}, 0.65}} {
					w := newWorld(known.table, machine.ns, accept)
					w.run(1000, always(size))
					if got := w.run(3000, always(size)); got < known.least*best {
						t.Errorf("%s, %s, %d running, acceptance %.1f: %.0f tokens/s, %.0f with %d drafts", machine.name, known.what, size, accept, got, best, at)
					}
				}
			}
		}
	}
}

// A head with random weights, whose drafts cost more than half a step each and are never right.
func TestABadDrafterCostsLittle(t *testing.T) {
	for _, size := range []int{1, 4, 8} {
		for what, table := range map[string]gpu.Costs{"measured": measured(cpuNS), "nothing measured": {}} {
			table.DraftToken = 4e6
			for _, length := range []int{64, 256, 2048} {
				world := func() *world {
					w := newWorld(table, cpuNS, 0)
					w.draftNS, w.length = 4e6, length
					return w
				}
				plain := world().fixed(2000, 0, always(size))
				w := world()
				w.run(50, always(size))
				if got := w.run(2000, always(size)); got < 0.95*plain {
					t.Errorf("%s, %d running, %d tokens each: %.0f tokens/s, %.0f plain", what, size, length, got, plain)
				}
			}
		}
	}
}

// A drafter that turns good is found out: within a few hundred steps it is used.
func TestComesBack(t *testing.T) {
	w := newWorld(measured(cpuNS), cpuNS, 0)
	w.length = 1 << 30
	w.run(5000, always(1))
	if w.drafted > 50 {
		t.Errorf("%d of 5000 steps drafted what is always refused", w.drafted)
	}
	w.accept = func(int) float64 { return 0.95 }
	w.run(mostGap+50, always(1))
	if w.run(100, always(1)); w.drafted < 95 {
		t.Errorf("%d of 100 steps draft", w.drafted)
	}
}

// A table that is wrong is corrected by the steps themselves.
func TestAWrongTableIsCorrected(t *testing.T) {
	wrong := measured(func(rows int, drafts float64) float64 { return cpuNS(rows, drafts/8) })
	for _, size := range []int{1, 4, 8} {
		plain := newWorld(wrong, cpuNS, 0.3).fixed(4000, 0, always(size))
		w := newWorld(wrong, cpuNS, 0.3)
		w.run(500, always(size))
		if got := w.run(4000, always(size)); got < 0.97*plain {
			t.Errorf("%d running: %.0f tokens/s, %.0f plain", size, got, plain)
		}
	}
}

// A machine that slows down as a whole changes nothing: what counts is what drafts multiply a step by.
func TestASlowMachineChangesNothing(t *testing.T) {
	slow := func(rows int, drafts float64) float64 { return 3 * cpuNS(rows, drafts) }
	w := newWorld(measured(cpuNS), cpuNS, 0.8)
	w.run(1000, always(1))
	before := w.drafted
	w.ns = slow
	w.run(500, always(1))
	w.run(1000, always(1))
	if before < 900 || w.drafted < 900 {
		t.Errorf("%d of 1000 steps with drafts before, %d after", before, w.drafted)
	}
}

// One request quotes and seven do not: drafts go to the one.
func TestDraftsGoToWhoAcceptsThem(t *testing.T) {
	w := newWorld(measured(cpuNS), cpuNS, 0)
	w.length = 1 << 30
	w.accept = func(id int) float64 {
		if id == 3 {
			return 0.95
		}
		return 0.05
	}
	w.run(1500, always(8))
	given := [8]int{}
	for range 200 {
		w.step(8, func(rows []Row) {
			w.c.Plan(rows, 1<<20)
			for i := range rows {
				given[i] += rows[i].Draft
			}
		})
	}
	for i, n := range given {
		if i == 3 && n < 400 || i != 3 && n > 20 {
			t.Errorf("request %d got %d drafts in 200 steps: %v", i, n, given)
			break
		}
	}
}

// Where the gain is close to nothing, speculation does not come and go with the noise.
func TestDoesNotFlap(t *testing.T) {
	for _, accept := range []float64{0.36, 0.4, 0.43, 0.46, 0.5} { // one draft at one row takes 1.43 steps
		w := newWorld(measured(cpuNS), cpuNS, accept)
		w.length = 1 << 30
		w.run(500, always(1))
		w.run(4000, always(1))
		if trials := 4000 / leastGap; w.switches > 2*trials {
			t.Errorf("acceptance %.2f: drafting began %d times in 4000 steps, of which %d drafted", accept, w.switches, w.drafted)
		}
	}
}

// Without a known step time, or with nothing on offer, nothing is drafted and nothing changes.
func TestNothingToDecide(t *testing.T) {
	var h History
	c := New(gpu.Costs{})
	rows := []Row{{Of: &h, Most: 7}}
	if c.Plan(rows, 100); rows[0].Draft != 0 || c.Known(1) {
		t.Errorf("%d drafts before the time of a step is known", rows[0].Draft)
	}
	c.Took(1, 0, 5e6)
	if c.Plan(rows, 100); rows[0].Draft == 0 {
		t.Error("no drafts once it is known")
	}
	before := h
	rows[0].Most = 0
	if c.Plan(rows, 100); rows[0].Draft != 0 || h != before {
		t.Errorf("%d drafts with none on offer", rows[0].Draft)
	}
	c.Plan(nil, 100)
}

func TestEveryPlanIsWithinItsLimits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		table := gpu.Costs{DraftToken: rapid.Int64Range(0, 1e6).Draw(t, "draft")}
		for b := range table.Step {
			for k := range table.Step[b] {
				table.Step[b][k] = rapid.OneOf(rapid.Just(int64(0)), rapid.Int64Range(0, 1e9)).Draw(t, "ns")
			}
		}
		a, b := New(table), New(table)
		var ha, hb [40]History
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			n := rapid.IntRange(1, 40).Draw(t, "rows")
			slots := rapid.IntRange(0, 60).Draw(t, "slots")
			ra, rb := make([]Row, n), make([]Row, n)
			for i := range ra {
				most := rapid.IntRange(0, MaxDraft).Draw(t, "most")
				ra[i], rb[i] = Row{Of: &ha[i], Most: most}, Row{Of: &hb[i], Most: most}
			}
			a.Plan(ra, slots)
			b.Plan(rb, slots)
			total := 0
			for i := range ra {
				if ra[i].Draft != rb[i].Draft {
					t.Fatal("equal calls give unequal plans")
				}
				if ra[i].Draft < 0 || ra[i].Draft > ra[i].Most {
					t.Fatalf("%d drafts of %d", ra[i].Draft, ra[i].Most)
				}
				total += ra[i].Draft
				ok := rapid.IntRange(0, ra[i].Draft).Draw(t, "accepted")
				a.Verified(&ha[i], ra[i].Draft, ok)
				b.Verified(&hb[i], ra[i].Draft, ok)
			}
			if total > slots {
				t.Fatalf("%d drafts in %d slots", total, slots)
			}
			ns := rapid.Int64Range(0, 1e10).Draw(t, "took")
			a.Took(n, total, ns)
			b.Took(n, total, ns)
		}
	})
}

// Between the sizes and numbers that were measured, times lie between; beyond them, they go on rising.
func TestStepTimes(t *testing.T) {
	var table gpu.Costs
	table.Step[0] = [16]int64{0: 100, 3: 400}
	table.Step[2] = [16]int64{0: 200, 1: 300, 2: 500}
	c := New(table)
	for _, x := range []struct{ rows, drafts, ns int }{
		{1, 0, 100}, {1, 3, 400}, {1, 1, 200}, {1, 6, 700}, {4, 0, 200}, {4, 1, 300}, {4, 2, 500}, {4, 3, 700}, {64, 1, 300},
	} {
		if got := c.costs.ns(x.rows, x.rows*x.drafts); int64(got) != int64(x.ns) {
			t.Errorf("%d rows with %d drafts each: %g ns, not %d", x.rows, x.drafts, got, x.ns)
		}
	}
	for _, x := range []struct{ bucket, drafts, ns int }{{0, 3, 400}, {0, 1, 0}, {2, 1, 300}, {3, 0, 0}} {
		if got := c.CellNS(x.bucket, x.drafts); got != int64(x.ns) {
			t.Errorf("cell %d, %d: %d ns, not %d", x.bucket, x.drafts, got, x.ns)
		}
	}
	if ns := c.costs.ns(4, 2); ns != 250 {
		t.Errorf("two drafts on four rows: %g ns, not 250", ns)
	}
}

func TestPlanDoesNotAllocate(t *testing.T) {
	c := New(measured(cpuNS))
	rows := make([]Row, 8)
	for i := range rows {
		rows[i] = Row{Of: &History{}, Most: 7}
	}
	c.Plan(rows, 100)
	if n := testing.AllocsPerRun(100, func() { c.Plan(rows, 100) }); n > 0 {
		t.Errorf("%v allocations a plan", n)
	}
}

func BenchmarkPlan(b *testing.B) {
	for _, n := range []int{1, 16, 256} {
		c := New(measured(gpuNS))
		rows := slices.Repeat([]Row{{Of: &History{}, Most: 7}}, n)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			for range b.N {
				c.Plan(rows, 1<<20)
			}
		})
	}
}
