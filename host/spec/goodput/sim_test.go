package goodput

import (
	"math/rand/v2"

	"github.com/sluice-dev/sluice/gpu"
)

// The measured step times of a 135M model on two CPU cores, ms by rows a sequence (drafts + 1): not monotone, since kernels work in
// blocks of rows.
var (
	cpuRows  = []int{1, 2, 3, 4, 6, 8, 12, 16}
	cpuSizes = []int{1, 4, 8}
	cpuMS    = [][]float64{
		{6.1, 8.7, 14, 17, 21, 17, 22, 29},
		{13, 16, 23, 37, 40, 39, 53, 84},
		{18, 24, 34, 43, 61, 88, 123, 145},
	}
)

// cpuNS is the true time of a step on that machine.
func cpuNS(rows int, drafts float64) float64 {
	i := 0
	for i < len(cpuSizes)-2 && cpuSizes[i+1] <= rows {
		i++
	}
	f := float64(rows-cpuSizes[i]) / float64(cpuSizes[i+1]-cpuSizes[i])
	return 1e6 * (line(cpuMS[i], drafts+1)*(1-f) + line(cpuMS[i+1], drafts+1)*f)
}

func line(ms []float64, x float64) float64 {
	i := 0
	for i < len(cpuRows)-2 && float64(cpuRows[i+1]) <= x {
		i++
	}
	f := (x - float64(cpuRows[i])) / float64(cpuRows[i+1]-cpuRows[i])
	return ms[i]*(1-f) + ms[i+1]*f
}

// gpuNS is a machine on which verification is almost free.
func gpuNS(rows int, drafts float64) float64 {
	return 1e6 * (5 + 0.01*float64(rows)*(1+drafts))
}

// measured is the table that a measurement of the machine would give.
func measured(ns func(int, float64) float64) (c gpu.Costs) {
	for b := range 4 {
		for _, k := range []int{0, 1, 2, 3, 5, 7, 11, 15} {
			c.Step[b][k] = int64(ns(1<<b, float64(k)))
		}
	}
	return c
}

// world is a device, a drafter and requests, in virtual time.
type world struct {
	c       *Controller
	ns      func(rows int, drafts float64) float64
	draftNS float64 // what drafting a token really takes
	noise   float64 // of a step's time
	rng     *rand.Rand

	accept func(request int) float64 // chance of each draft
	offer  func(request int) float64 // chance that a step has anything on offer
	length int                       // tokens of an answer

	rows     []*request
	begun    int
	tokens   float64
	spent    float64
	drafted  int // steps with drafts
	switches int // how often steps with drafts began
	was      bool
}

type request struct {
	History
	id, left int
}

func newWorld(table gpu.Costs, ns func(int, float64) float64, accept float64) *world {
	return &world{
		c: New(table), ns: ns, rng: rand.New(rand.NewPCG(1, 2)), noise: 0.1, length: 256,
		accept: func(int) float64 { return accept }, offer: func(int) float64 { return 1 },
	}
}

// step runs one step with so many rows, planned by plan.
func (w *world) step(size int, plan func(rows []Row)) {
	for len(w.rows) < size {
		w.rows = append(w.rows, &request{id: w.begun, left: w.length})
		w.begun++
	}
	running := w.rows[:size]
	rows := make([]Row, size)
	for i, r := range running {
		rows[i].Of = &r.History
		if w.rng.Float64() < w.offer(r.id) {
			rows[i].Most = min(MaxDraft, r.left-1)
		}
	}
	plan(rows)
	drafts := 0
	for i := range rows {
		drafts += rows[i].Draft
	}
	ns := w.ns(size, float64(drafts)/float64(size)) * (1 + w.noise*(2*w.rng.Float64()-1))
	ns += w.draftNS * float64(drafts)
	w.spent += ns
	for i, r := range running {
		w.verify(r, rows[i].Draft)
	}
	w.c.Took(size, drafts, int64(ns))
	w.rows = w.rows[:0]
	for _, r := range running {
		if r.left > 0 {
			w.rows = append(w.rows, r)
		}
	}
	if drafts > 0 {
		w.drafted++
		if !w.was {
			w.switches++
		}
	}
	w.was = drafts > 0
}

func (w *world) verify(r *request, drafted int) {
	n := 0
	for n < drafted && w.rng.Float64() < w.accept(r.id) {
		n++
	}
	w.tokens += float64(n + 1)
	if r.left -= n + 1; r.left > 0 {
		w.c.Verified(&r.History, drafted, n)
	}
}

// run is the tokens a second of so many steps.
func (w *world) run(steps int, size func(step int) int) float64 {
	w.tokens, w.spent, w.drafted, w.switches = 0, 0, 0, 0
	for i := range steps {
		w.step(size(i), func(rows []Row) { w.c.Plan(rows, 1<<20) })
	}
	return w.tokens / w.spent * 1e9
}

// fixed is the tokens a second of so many steps in which each row drafts k.
func (w *world) fixed(steps, k int, size func(step int) int) float64 {
	w.tokens, w.spent = 0, 0
	for i := range steps {
		w.step(size(i), func(rows []Row) {
			for i := range rows {
				rows[i].Draft = min(k, rows[i].Most)
			}
		})
	}
	return w.tokens / w.spent * 1e9
}

func always(n int) func(int) int { return func(int) int { return n } }
