package replay

import (
	"cmp"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"

	"github.com/sluice-dev/sluice/host/sched"
	"github.com/sluice-dev/sluice/host/trace"
	"github.com/sluice-dev/sluice/plugins/abi"
)

// epoch is the virtual time of the first arrival: not 0, which means "never" in a Request.
const epoch = int64(1e9)

// bytesPerToken stands for the size of a request, which a trace does not hold.
const bytesPerToken = 4

// The largest time and length that a trace is believed; nothing that is computed from them can wrap.
const (
	maxSpan   = int64(1) << 61 // ns, 73 years
	maxTokens = 1 << 40
)

// job is one request of the trace on its way through the replay.
type job struct {
	req    sched.Request
	length int     // tokens after which it is done; only the loop looks at it
	done   bool    // its model said so; else its length was the limit
	accept float64 // chance of a draft token
	offers offers
	model  string
	bucket int
}

// departure is a client that leaves, if it is still there.
type departure struct {
	at  int64
	job int
}

// workload is a trace made ready: jobs and departures in the order of their time.
type workload struct {
	jobs       []job
	departures []departure
	excluded   int // records without a prompt: refused before there was anything to schedule
	drawn      int // lengths that had to be drawn
	classes    []string
}

func newWorkload(in *Input) (*workload, error) {
	if len(in.Records) == 0 {
		return nil, errors.New("the trace holds no records")
	}
	w := &workload{classes: slices.Clone(in.Classes), jobs: make([]job, 0, len(in.Records))}
	if len(w.classes) == 0 {
		w.classes = DefaultClasses()
	}
	all, limit := gatherLengths(in.Records), defaultMaxTokens(in.Records)
	first := in.Records[0].Arrival
	for i := range in.Records {
		r := &in.Records[i]
		if i > 0 && r.Arrival < in.Records[i-1].Arrival {
			return nil, fmt.Errorf("record %d (%s) arrives before the one that stands before it", i, r.ID)
		}
		if r.PromptTokens < 1 {
			w.excluded++
			continue
		}
		after := float64(r.Arrival-first) / in.Speed
		if !(after >= 0 && after < float64(maxSpan)) {
			return nil, fmt.Errorf("record %d (%s) arrives too long after the first: at speed %g, %.0f s", i, r.ID, in.Speed, after/1e9)
		}
		if err := w.add(in, r, epoch+int64(after), limit, all); err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(w.departures, func(a, b departure) int { return cmp.Compare(a.at, b.at) })
	return w, nil
}

func (w *workload) add(in *Input, r *trace.Record, at int64, limit int, all *lengths) error {
	class, err := w.class(r.Class)
	if err != nil {
		return err
	}
	id := uint64(len(w.jobs) + 1)
	output := min(r.OutputTokens, maxTokens)
	j := job{
		length: output, done: r.Outcome == "completed", accept: acceptance(r, in.Acceptance), offers: offersOf(r, in.Acceptance),
		model: r.Model, bucket: bucketOf(r.PromptTokens),
		req: sched.Request{
			ID: id, Class: class, Priority: r.Priority, Tenant: tenant(r.Tenant), Arrival: at, TTL: r.TTL, Attempt: r.Attempt,
			PromptTokens: r.PromptTokens, PromptBytes: r.PromptTokens * bytesPerToken, MaxTokens: r.MaxTokens,
			Stream: r.Stream || r.Imported != "",
		},
	}
	if j.req.MaxTokens < 1 {
		j.req.MaxTokens = limit
	}
	if !known(r) {
		j.length = all.draw(r.PromptTokens, output, draw(in.Seed, drawLength, id, 0))
		w.drawn++
	}
	if j.length >= j.req.MaxTokens {
		j.length, j.done = j.req.MaxTokens, false
	}
	if r.Outcome == "cancelled_in_queue" || r.Outcome == "cancelled_running" {
		w.departures = append(w.departures, departure{at: at + min(r.E2E, maxSpan), job: len(w.jobs)})
	}
	w.jobs = append(w.jobs, j)
	return nil
}

// class is the index of a class's name; names that are not configured get the next free one.
func (w *workload) class(name string) (uint8, error) {
	if name == "" {
		name = trace.DefaultClass
	}
	i := slices.Index(w.classes, name)
	if i < 0 {
		i = len(w.classes)
		w.classes = append(w.classes, name)
	}
	if i >= abi.Classes {
		return 0, fmt.Errorf("class %q is one too many; at most %d can be told apart", name, abi.Classes)
	}
	return uint8(i), nil
}

// className is the name of a class, as the live server's records have it: a policy may choose one without a name.
func (w *workload) className(class uint8) string {
	if int(class) < len(w.classes) {
		return w.classes[class]
	}
	return fmt.Sprintf("class%d", class)
}

// defaultMaxTokens stands for a max_tokens that the trace does not hold: one value for all, so that it says nothing
// about any single length.
func defaultMaxTokens(records []trace.Record) int {
	most := 1024
	for i := range records {
		for most < min(records[i].OutputTokens, maxTokens) {
			most *= 2
		}
	}
	return most
}

// tenant is the hash that a record holds, as policies saw it; a tenant of another origin is hashed.
func tenant(name string) uint64 {
	if n, err := strconv.ParseUint(name, 16, 64); err == nil && len(name) == 16 {
		return n
	}
	if name == "" {
		return 0
	}
	h := fnv.New64a()
	h.Write([]byte(name))
	return h.Sum64()
}
