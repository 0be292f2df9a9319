package measure

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/sluice-dev/sluice/gpu"
	"github.com/sluice-dev/sluice/gpu/sim"
)

// clocked is a simulated device whose steps, copies and saves move a clock of its own.
type clocked struct {
	*sim.Device
	profile sim.Profile
	at      time.Time
	steps   int
	slow    int    // every slow-th step takes ten times as long; 0 = none does
	busy    bool   // every step takes one to four times as long
	held    int    // ns that each row takes for each token that a spare sequence holds
	far     [2]int // ns that each token takes for each one before it, in a step of less than wide tokens and of more
	wide    int
}

func (c *clocked) Info() gpu.Info {
	info := c.Device.Info()
	info.WideRows = c.wide
	return info
}

func clock(t *testing.T, o sim.Options) *clocked {
	t.Helper()
	p, err := sim.ParseProfile(sim.CPUProfile)
	if err != nil {
		t.Fatal(err)
	}
	o.SpareSeqs, o.CopyMin, o.SharedKV, o.CanSave = 4, 16, true, true
	return &clocked{Device: sim.Open(p, o), profile: p, at: time.Unix(1000, 0)}
}

func (c *clocked) Forward(b *gpu.Batch) error {
	var parts []sim.Part
	rows, before := 0, 0
	for _, it := range b.Items {
		parts = append(parts, sim.Part{Context: it.Pos, New: len(it.Tokens), Logits: it.Logits})
		rows, before = rows+len(it.Tokens), before+len(it.Tokens)*it.Pos
	}
	far := c.far[0]
	if c.wide > 0 && rows >= c.wide {
		far = c.far[1]
	}
	ns := c.profile.StepNS(parts) + int64(len(parts)*c.spareTokens()*c.held) + int64(before*far)
	if c.steps++; c.slow > 0 && c.steps%c.slow == 0 {
		ns *= 10
	}
	if c.busy {
		ns *= 1 + int64(c.steps*c.steps/3%4)
	}
	c.at = c.at.Add(time.Duration(ns))
	return c.Device.Forward(b)
}

func (c *clocked) spareTokens() (n int) {
	info := c.Info()
	for seq := range info.SpareSeqs {
		n += len(c.History(info.MaxSeqs + seq))
	}
	return n
}

func (c *clocked) Copy(from, to, n int) error {
	c.at = c.at.Add(30 * time.Microsecond)
	return c.Device.Copy(from, to, n)
}

func (c *clocked) Save(seq int) (*gpu.Saved, error) {
	c.at = c.at.Add(moveTokens * 3 * time.Microsecond)
	return c.Device.Save(seq)
}

func (c *clocked) measure(t *testing.T, o Options) Report {
	t.Helper()
	o.now = func() time.Time { return c.at }
	r, err := Run(t.Context(), c, o)
	if err != nil {
		t.Fatal(err)
	}
	if c.Held() != 0 {
		t.Errorf("%d tokens are left on the device", c.Held())
	}
	return r
}

func rowsNS(c *clocked, rows int) int64 {
	return c.profile.StepNS([]sim.Part{{New: rows, Logits: rows}})
}

func TestTheTableIsWhatStepsTake(t *testing.T) {
	c := clock(t, sim.Options{})
	r := c.measure(t, Options{Limit: time.Hour})
	for b := range Buckets {
		for k := range Drafts {
			got, n := r.Costs.Step[b][k], r.Samples[b][k]
			switch measured := slices.Contains(drafts, k); {
			case b > 4: // the device has 16 places
				if got != 0 || n != 0 {
					t.Errorf("%d sequences: %d ns of %d samples", 1<<b, got, n)
				}
			case measured && (got != rowsNS(c, (1<<b)*(k+1)) || n != samples):
				t.Errorf("%d sequences, %d drafts: %d ns of %d samples, not %d", 1<<b, k, got, n, rowsNS(c, (1<<b)*(k+1)))
			case !measured && (got <= 0 || n != 0 || got < min(r.Costs.Step[b][k-1], r.Costs.Step[b][k+1]) || got > max(r.Costs.Step[b][k-1], r.Costs.Step[b][k+1])):
				t.Errorf("%d sequences, %d drafts: %d ns does not lie between its neighbours", 1<<b, k, got)
			}
		}
	}
	if want := (rowsNS(c, 256) - rowsNS(c, 1)) / 255; r.Costs.PrefillToken != want {
		t.Errorf("a prompt token costs %d ns, not %d", r.Costs.PrefillToken, want)
	}
	if r.Costs.Copy != 30_000 || r.Costs.SaveToken != 3_000 || r.Costs.DraftToken != 0 || r.Largest != 16 || r.TookNS <= 0 {
		t.Errorf("%+v, %d", r.Costs, r.Largest)
	}
	if got, want := r.DecodePerSecond(16), 16e9/float64(rowsNS(c, 16)); got != want {
		t.Errorf("%g tokens a second at 16, not %g", got, want)
	}
	if r.DecodePerSecond(17) != 0 {
		t.Error("there are tokens a second beyond the device's places")
	}
}

// A cache in which each row looks at all that is held says so, also on a machine that is disturbed; another one says 0.
func TestWhatHeldTokensCost(t *testing.T) {
	for _, held := range []int{0, 250} {
		for _, slow := range []int{0, 7} {
			c := clock(t, sim.Options{})
			c.held, c.slow = held, slow
			r := c.measure(t, Options{Limit: time.Hour})
			if got := int(r.Costs.HeldToken); got < held*8/10 || got > held {
				t.Errorf("a held token costs %d ns a row, not %d", got, held)
			}
		}
	}
}

// What is before a prompt token costs what it costs, in both kinds of steps where there are two, unless finding out would take too long.
func TestWhatDistanceCosts(t *testing.T) {
	for _, c := range []struct {
		name      string
		far       [2]int
		wide      int
		limit     time.Duration
		want      [2]int64 // for 1,024 tokens
		wideWants int
	}{
		{"none", [2]int{}, 0, time.Hour, [2]int64{}, 0},
		{"one price", [2]int{2500, 2500}, 0, time.Hour, [2]int64{2500 * 1024, 0}, 0},
		{"two prices", [2]int{2500, 900}, 64, time.Hour, [2]int64{2500 * 1024, 900 * 1024}, 64},
		{"wide from two rows on", [2]int{2500, 900}, 2, time.Hour, [2]int64{2500 * 1024, 900 * 1024}, 2},
		{"more rows than a step may have", [2]int{2500, 900}, 4096, time.Hour, [2]int64{}, 0},
		{"no time", [2]int{2500, 900}, 64, 100 * time.Millisecond, [2]int64{}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := clock(t, sim.Options{})
			d.far, d.wide = c.far, c.wide
			r := d.measure(t, Options{Limit: c.limit}).Costs
			for i, got := range []int64{r.PrefillFar, r.PrefillFarWide} {
				if want := c.want[i]; got < want*99/100 || got > want {
					t.Errorf("price %d is %d ns, not %d", i, got, want)
				}
			}
			if r.WideRows != c.wideWants {
				t.Errorf("wide from %d rows on, not %d", r.WideRows, c.wideWants)
			}
		})
	}
}

// A machine that is busy all the time is noticed; one with a neighbour now and then is measured.
func TestABusyMachineIsNoticed(t *testing.T) {
	for _, busy := range []bool{false, true} {
		c := clock(t, sim.Options{})
		c.slow, c.busy = 7, busy
		if r := c.measure(t, Options{Limit: time.Hour}); r.Disturbed() != busy || r.Spread < 1 {
			t.Errorf("busy %v: a spread of %g, disturbed %v", busy, r.Spread, r.Disturbed())
		}
	}
}

// One step in seven takes ten times as long: a neighbour on the machine.
func TestASlowStepNowAndThenDoesNotShow(t *testing.T) {
	c := clock(t, sim.Options{})
	c.slow = 7
	r := c.measure(t, Options{Limit: time.Hour})
	for b := range 5 {
		for _, k := range drafts {
			if got, want := r.Costs.Step[b][k], rowsNS(c, (1<<b)*(k+1)); got != want {
				t.Errorf("%d sequences, %d drafts: %d ns, not %d", 1<<b, k, got, want)
			}
		}
	}
}

// Whatever the limit, what was not measured is 0, single steps come first, and the device is empty.
func TestTheLimitIsKept(t *testing.T) {
	for _, limit := range []time.Duration{time.Nanosecond, 100 * time.Millisecond, 500 * time.Millisecond, 2 * time.Second, 5 * time.Second} {
		c := clock(t, sim.Options{})
		r := c.measure(t, Options{Limit: limit})
		if over := time.Duration(r.TookNS) - limit; over > 600*time.Millisecond { // no more than what had begun
			t.Errorf("%v: it took %v", limit, time.Duration(r.TookNS))
		}
		if r.Costs.PrefillToken <= 0 {
			t.Errorf("%v: no cost of a prompt token", limit)
		}
		for b := range Buckets {
			for k := range Drafts {
				if b > 0 && r.Samples[b][k] > r.Samples[b-1][k] {
					t.Errorf("%v: %d sequences with %d drafts were measured %d times, and half as many %d times", limit, 1<<b, k, r.Samples[b][k], r.Samples[b-1][k])
				}
			}
		}
		if limit >= 5*time.Second && r.Samples[4][15] == 0 {
			t.Errorf("%v: the table is not full", limit)
		}
	}
}

func TestSmallDevices(t *testing.T) {
	for _, o := range []sim.Options{
		{MaxSeqs: 1, MaxBatchTokens: 1, KVTokens: 64},
		{MaxSeqs: 3, MaxBatchTokens: 8, KVTokens: 64, ContextTokens: 20},
		{MaxSeqs: 12, MaxBatchTokens: 12},
		{MaxSeqs: 6, KVTokens: 96},
	} {
		c := clock(t, o)
		r := c.measure(t, Options{Limit: time.Minute})
		if r.Costs.Step[0][0] != rowsNS(c, 1) {
			t.Errorf("%+v: a single step costs %d", o, r.Costs.Step[0][0])
		}
		if want := min(o.MaxSeqs, r.Largest); r.Largest < 1 || r.Largest != want {
			t.Errorf("%+v: measured up to %d sequences", o, r.Largest)
		}
	}
	c := clock(t, sim.Options{MaxSeqs: 12})
	if r := c.measure(t, Options{Limit: time.Minute}); r.Costs.Step[4][0] != rowsNS(c, 12) || r.Largest != 12 {
		t.Errorf("the last bucket of 12 places costs %d at %d sequences", r.Costs.Step[4][0], r.Largest)
	}
}

func TestADeviceThatFailsEndsIt(t *testing.T) {
	broken := errors.New("broken")
	for at := uint64(1); at < 60; at += 7 {
		c := clock(t, sim.Options{Fault: func(step uint64, _ *gpu.Batch) error {
			if step >= at {
				return broken
			}
			return nil
		}})
		if r, err := Run(t.Context(), c, Options{}); !errors.Is(err, broken) || r.Costs != (gpu.Costs{}) {
			t.Errorf("step %d: %v", at, err)
		}
	}
}

func TestPlainStepsOnly(t *testing.T) {
	c := clock(t, sim.Options{})
	r := c.measure(t, Options{Limit: time.Hour, Plain: true})
	for b := range 5 {
		if r.Samples[b][0] != samples || r.Costs.Step[b][1] != 0 {
			t.Errorf("%d sequences: %v", 1<<b, r.Samples[b])
		}
	}
}

// What there is no memory for is left out.
func TestStepsThatDoNotFitAreLeftOut(t *testing.T) {
	c := clock(t, sim.Options{Fault: func(_ uint64, b *gpu.Batch) error {
		if len(b.Items) > 4 && b.Items[0].Logits > 8 {
			return gpu.ErrMemory
		}
		return nil
	}})
	r := c.measure(t, Options{Limit: time.Hour})
	if r.Costs.Step[2][15] == 0 || r.Costs.Step[3][7] == 0 || r.Costs.Step[3][8] != 0 || r.Costs.Step[4][15] != 0 {
		t.Errorf("%v", r.Costs.Step)
	}
}

func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	c := clock(t, sim.Options{Fault: func(step uint64, _ *gpu.Batch) error {
		if step == 20 {
			cancel()
		}
		return nil
	}})
	if _, err := Run(ctx, c, Options{Limit: time.Hour}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if c.Held() != 0 {
		t.Errorf("%d tokens are left on the device", c.Held())
	}
}

// fakeDrafter finds two drafts in a millisecond each, and checks that it sees every step.
type fakeDrafter struct {
	t    *testing.T
	dev  *clocked
	seen int
}

func (f *fakeDrafter) Name() string { return "fake" }

func (f *fakeDrafter) Observe(b *gpu.Batch, kept []int) error {
	if f.seen++; f.seen != f.dev.steps {
		f.t.Errorf("step %d is observed as the %d.", f.dev.steps, f.seen)
	}
	for i, it := range b.Items {
		if kept[i] != len(it.Tokens) {
			f.t.Errorf("%d of %d tokens are kept", kept[i], len(it.Tokens))
		}
	}
	return nil
}

func (f *fakeDrafter) Draft(rows []gpu.DraftRow) error {
	for i := range rows {
		if got := len(f.dev.History(rows[i].Seq)); len(rows[i].History) != got+1 {
			f.t.Errorf("a history of %d tokens for a sequence that holds %d", len(rows[i].History), got)
		}
		rows[i].Draft = append(rows[i].Draft[:0], 1, 2)
		f.dev.at = f.dev.at.Add(2 * time.Millisecond)
	}
	return nil
}

func TestADrafterIsMeasuredAndSeesEveryStep(t *testing.T) {
	c := clock(t, sim.Options{MaxSeqs: 2})
	f := &fakeDrafter{t: t, dev: c}
	if r := c.measure(t, Options{Limit: time.Hour, Drafter: f}); r.Costs.DraftToken != int64(time.Millisecond) {
		t.Errorf("a draft costs %d ns", r.Costs.DraftToken)
	}
	if f.seen != c.steps {
		t.Errorf("%d of %d steps were observed", f.seen, c.steps)
	}
}
