// Command step measures the host's own time in a step: the scheduler's Plan and Complete with the four shipped policies in the
// policy host, on a device that takes no time. There is no engine: sampling, text and channels are not in it.
//
//	go run ./bench/step [--runs 5] [--steps 2000]
//
// In "steady" all places are taken and nothing ends; in "turnover" one request ends in every step and another takes its place; in
// "short" there are places, but no KV blocks for anybody who waits; in "tick" the queue is looked through, which the engine does every 10 ms. ns are the fastest of the runs, since a
// neighbour on the machine only ever adds to them.
package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"os"
	"runtime"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/sluice-dev/sluice/host/sched"
	"github.com/sluice-dev/sluice/plugins"
	"github.com/sluice-dev/sluice/plugins/wazero"
	"github.com/sluice-dev/sluice/policies"
)

// target is what a step may take at 64 rows and 1,000 waiting requests.
const target = 50 * time.Microsecond

func main() {
	runs := flag.Int("runs", 5, "runs; the fastest counts")
	steps := flag.Int("steps", 2000, "steps in a run")
	flag.Parse()
	if err := run(*runs, *steps); err != nil {
		fmt.Fprintln(os.Stderr, "step:", err)
		os.Exit(1)
	}
}

func run(runs, steps int) error {
	host, err := load()
	if err != nil {
		return err
	}
	defer host.close()
	fmt.Printf("%s, %s, fastest of %d runs of %d steps, target %v a step\n", runtime.Version(), runtime.GOARCH, runs, steps, target)
	w := tabwriter.NewWriter(os.Stdout, 0, 4, 2, ' ', 0)
	fmt.Fprintln(w, "BATCH\tWAITING\tWHAT\tNATIVE_NS\tALLOCS\tPOLICIES_NS\tALLOCS")
	for _, batch := range []int{64, 16, 1} { // tpot-cap only gradually lets more in than it has seen
		for _, waiting := range []int{0, 256, 1000} {
			for _, kind := range []string{"steady", "turnover", "short", "tick"} {
				native, err := measure(batch, waiting, kind, runs, steps, nil)
				if err != nil {
					return err
				}
				with, err := measure(batch, waiting, kind, runs, steps, host)
				if err != nil {
					return err
				}
				fmt.Fprintf(w, "%d\t%d\t%s\t%d\t%.2f\t%d\t%.2f\n", batch, waiting, kind, native.ns, native.allocs, with.ns, with.allocs)
			}
		}
	}
	return w.Flush()
}

// shipped is the policy host with the four policies. Its time only moves forward.
type shipped struct {
	*plugins.Host
	rt  *wazero.Runtime
	now int64
}

func load() (*shipped, error) {
	rt, err := wazero.New(wazero.Options{})
	if err != nil {
		return nil, fmt.Errorf("start runtime: %w", err)
	}
	h := &shipped{Host: plugins.New(rt, plugins.Options{}), rt: rt, now: 1e9}
	var chain []plugins.Policy
	for _, m := range policies.Shipped() {
		chain = append(chain, plugins.Policy{Name: m.Name, Wasm: m.Wasm})
	}
	if err := h.SetAll(context.Background(), chain); err != nil {
		h.close()
		return nil, fmt.Errorf("load policies: %w", err)
	}
	return h, nil
}

func (h *shipped) close() {
	_ = h.Close()
	_ = h.rt.Close()
}

// figure is what one action costs.
type figure struct {
	ns     int64
	allocs float64
}

func measure(batch, waiting int, kind string, runs, steps int, host *shipped) (figure, error) {
	var all []figure
	for range runs {
		f, err := once(batch, waiting, kind, steps, host)
		if err != nil {
			return figure{}, err
		}
		all = append(all, f)
	}
	return slices.MinFunc(all, func(a, b figure) int { return cmp.Compare(a.ns, b.ns) }), nil
}

func once(batch, waiting int, kind string, steps int, host *shipped) (figure, error) {
	l, err := newLoop(batch, waiting, kind == "short", host)
	if err != nil {
		return figure{}, err
	}
	act := map[string]func(){"steady": func() { l.step(false) }, "short": func() { l.step(false) }, "turnover": func() { l.step(true) }, "tick": func() { l.core.Tick(l.now) }}[kind]
	for range steps / 10 { // the buffers grow to their size
		act()
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	from := time.Now()
	for range steps {
		act()
	}
	took := time.Since(from)
	runtime.ReadMemStats(&after)
	if n := l.core.Running() + l.core.Waiting(); n != batch+waiting || l.core.Running() < batch-1 {
		return figure{}, fmt.Errorf("%d run and %d wait at the end, want %d and %d", l.core.Running(), l.core.Waiting(), batch, waiting)
	}
	return figure{int64(took) / int64(steps), float64(after.Mallocs-before.Mallocs) / float64(steps)}, nil
}

// loop is what the engine does around a step, without a device.
type loop struct {
	core    *sched.Core
	host    *shipped // nil = native defaults
	now     int64
	next    uint64
	results []sched.Result
	spare   []*sched.Request // ended, to be used again
	burst   [1]*sched.Request
}

// stepNS is the time between two steps: the policies that count time must not shed what waits before the run is over.
const stepNS = 1e6

func newLoop(batch, waiting int, short bool, host *shipped) (*loop, error) {
	cfg := sched.DefaultConfig(batch, max(512, 2*batch), 1<<20, 1<<30)
	cfg.MaxDraft = 4
	if short {
		cfg.MaxSeqs *= 2
		cfg.Blocks, cfg.MaxWaitingTokens = 60_000, 1<<40
	}
	core, err := sched.New(cfg, nil)
	if err != nil {
		return nil, fmt.Errorf("make scheduler: %w", err)
	}
	l := &loop{core: core, host: host, now: 1e9}
	if host != nil {
		l.now = host.now
		d, epoch, _ := host.Swap(l.now)
		core.SetPolicies(d, epoch)
	}
	for range batch {
		l.arrive(16, 1<<19)
	}
	for range 4 * batch {
		l.step(false)
	}
	prompt, tokens := 16, 1<<19
	if short { // more than what those leave that run
		prompt, tokens = (cfg.Blocks-batch)*cfg.BlockSize, 1
	}
	for range waiting {
		l.arrive(prompt, tokens)
	}
	return l, nil
}

// arrive adds a request. Every third is of the second class, behind the first, so that nobody is preempted.
func (l *loop) arrive(prompt, tokens int) {
	l.next++
	if len(l.spare) == 0 {
		l.spare = append(l.spare, new(sched.Request))
	}
	n := len(l.spare) - 1
	r := l.spare[n]
	l.spare = l.spare[:n]
	*r = sched.Request{ID: l.next, Arrival: l.now, PromptTokens: prompt, MaxTokens: tokens, Class: uint8(l.next % 3 / 2), Tenant: l.next % 8}
	l.burst[0] = r
	l.core.Arrive(l.now, l.burst[:]...)
}

func (l *loop) step(turnover bool) {
	if l.host != nil {
		if d, epoch, changed := l.host.Swap(l.now); changed {
			l.core.SetPolicies(d, epoch)
		}
	}
	b := l.core.Plan(l.now)
	l.results = l.results[:0]
	for i := range b.Rows {
		res := sched.Result{}
		if b.Rows[i].Sample {
			res.Emitted = 1
			if turnover && i == 0 {
				res.Done = sched.OutcomeCompleted
			}
		}
		l.results = append(l.results, res)
	}
	if l.now += stepNS; l.host != nil {
		l.host.now = l.now
	}
	l.core.Complete(l.now, l.results)
	for _, r := range l.core.TakeEnded() {
		l.spare = append(l.spare, r)
		l.arrive(16, 1<<19)
	}
}
