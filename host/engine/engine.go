package engine

import (
	"context"
	"fmt"
	"hash/fnv"
	"sync"
	"time"

	"github.com/sluice-dev/sluice/gpu"
	"github.com/sluice-dev/sluice/host/sched"
	"github.com/sluice-dev/sluice/host/spec"
	"github.com/sluice-dev/sluice/plugins/abi"
)

// Engine runs the decode loop in a goroutine of its own from New until Close. All its methods may be called from any
// goroutine.
type Engine struct {
	cfg   Config
	info  gpu.Info
	start time.Time // with a monotonic reading: Now counts from it
	inbox chan message
	stop  chan struct{}
	gone  chan struct{} // closed when the loop has returned

	saying sync.RWMutex // lets Close see the last message; held for the time of a send to a loop that still receives
	shut   bool

	once     sync.Once
	closeErr error

	names *hasher // of KV blocks; nil = no prefix cache
	loop  *loop
}

// message is what other goroutines say to the loop: requests to take in, one to cancel, or a function to run there.
type message struct {
	arrive []*active
	cancel *active
	run    func(now int64)
}

// New starts an engine. It owns the device from then on: Close closes it.
func New(cfg Config) (*Engine, error) {
	if err := cfg.fill(); err != nil {
		return nil, err
	}
	e := &Engine{
		cfg: cfg, info: cfg.Device.Info(), start: time.Now(),
		inbox: make(chan message, 1024), stop: make(chan struct{}), gone: make(chan struct{}),
	}
	core, err := sched.New(cfg.Sched, nil)
	if err != nil {
		return nil, fmt.Errorf("make scheduler: %w", err)
	}
	if !cfg.NoPrefixCache {
		e.names = newHasher(cfg.Sched.BlockSize, cfg.IsolateTenants)
	}
	e.loop = newLoop(e, core)
	go e.loop.run()
	return e, nil
}

// Now is the engine's clock: monotonic nanoseconds, the unit of Request.Arrival.
func (e *Engine) Now() int64 { return int64(time.Since(e.start)) + 1 }

// unix turns a reading of the clock into wall time.
func (e *Engine) unix(at int64) int64 { return e.start.UnixNano() + at - 1 }

// Submit hands a request to the loop. It fails on a malformed request and once the engine is closed; a rejection by limits
// or policies is not an error but the Result of the Stream.
func (e *Engine) Submit(req Request) (*Stream, error) {
	streams, err := e.SubmitAll([]Request{req})
	if err != nil {
		return nil, err
	}
	return streams[0], nil
}

// SubmitAll hands requests over together: they are judged in one go, in their order. After an error none was taken.
func (e *Engine) SubmitAll(reqs []Request) ([]*Stream, error) {
	streams, err := e.submit(reqs)
	if err != nil {
		for i := range reqs {
			if g := reqs[i].Grammar; g != nil {
				g.Close()
			}
		}
	}
	return streams, err
}

func (e *Engine) submit(reqs []Request) ([]*Stream, error) {
	for i := range reqs {
		if err := e.check(&reqs[i]); err != nil {
			return nil, err
		}
	}
	arrive, streams := make([]*active, len(reqs)), make([]*Stream, len(reqs))
	for i := range reqs {
		arrive[i] = e.newActive(reqs[i])
		streams[i] = arrive[i].stream
	}
	if len(reqs) > 0 && !e.say(message{arrive: arrive}) {
		return nil, ErrDraining
	}
	return streams, nil
}

func (e *Engine) check(req *Request) error {
	if req.ID == "" || len(req.Prompt) == 0 || req.MaxTokens < 1 {
		return fmt.Errorf("check request: it needs an id, a prompt and max_tokens of at least 1")
	}
	if int(req.Class) >= abi.Classes {
		return fmt.Errorf("check request: class %d is not below %d", req.Class, abi.Classes)
	}
	for i, t := range req.Prompt {
		if t < 0 || int(t) >= e.info.VocabSize {
			return fmt.Errorf("check request: prompt token %d is %d, outside the vocabulary of %d", i, t, e.info.VocabSize)
		}
	}
	if req.TopLogprobs < 0 || req.TopLogprobs > MaxLogprobs {
		return fmt.Errorf("check request: %d alternatives to each token are not 0 to %d", req.TopLogprobs, MaxLogprobs)
	}
	if err := req.Sampling.Validate(); err != nil {
		return fmt.Errorf("check request: %w", err)
	}
	if now := e.Now(); req.Arrival <= 0 || req.Arrival > now {
		req.Arrival = now
	}
	return nil
}

func (e *Engine) newActive(req Request) *active {
	a := &active{
		req:     req,
		history: append(make([]gpu.Token, 0, len(req.Prompt)+min(req.MaxTokens, 4096)), req.Prompt...),
		sampler: spec.NewSampler(req.Sampling, e.info.VocabSize),
		text:    textStream{stops: req.Stop},
		stream:  &Stream{events: make(chan Event, min(e.cfg.Buffer, req.MaxTokens)+1), done: make(chan struct{})},
	}
	a.sched = sched.Request{
		Class: req.Class, Priority: req.Priority, Tenant: TenantHash(req.Tenant), PromptTokens: len(req.Prompt),
		PromptBytes: req.PromptBytes, MaxTokens: req.MaxTokens, Arrival: req.Arrival, TTL: req.TTL, Attempt: req.Attempt,
		Stream: req.Stream, NoSpec: req.NoSpec,
	}
	if req.Grammar != nil {
		a.sampler.Constrain(req.Grammar)
	}
	if req.Deadline > 0 {
		a.sched.Deadline = req.Arrival + req.Deadline
	}
	if req.TTFT > 0 {
		a.sched.TTFTDeadline = req.Arrival + req.TTFT
	}
	if e.names != nil {
		a.root = e.names.root(req.Tenant)
		a.hashes = e.names.extend(nil, a.root, a.history)
		a.sched.Hashes = a.hashes[:len(a.hashes):len(a.hashes)]
	}
	a.stream.cancel = func() { e.say(message{cancel: a}) }
	return a
}

// say reports whether the loop will see m.
func (e *Engine) say(m message) bool {
	e.saying.RLock()
	defer e.saying.RUnlock()
	if e.shut {
		return false
	}
	e.inbox <- m
	return true
}

// Snapshot is the state of the loop between two of its actions.
type Snapshot struct {
	State  abi.State
	Stats  sched.Stats
	Faults Faults
}

// Snapshot asks the loop for its state. It waits for no device step, only for the loop's present action.
func (e *Engine) Snapshot(ctx context.Context) (Snapshot, error) {
	reply := make(chan Snapshot, 1)
	ok := e.say(message{run: func(now int64) {
		reply <- Snapshot{State: *e.loop.core.State(now), Stats: e.loop.core.Stats(), Faults: e.loop.health.faults}
	}})
	if !ok {
		return Snapshot{}, ErrDraining
	}
	select {
	case s := <-reply:
		return s, nil
	case <-e.gone:
		return Snapshot{}, ErrDraining
	case <-ctx.Done():
		return Snapshot{}, fmt.Errorf("read engine state: %w", ctx.Err())
	}
}

// Drain refuses arrivals and waits until everything has ended. When ctx ends first, what is left is ended as drained.
func (e *Engine) Drain(ctx context.Context) {
	empty := make(chan struct{})
	e.say(message{run: func(now int64) {
		e.loop.state = abi.HostStateDraining
		e.loop.core.SetHostState(now, e.loop.state)
		e.loop.empty = append(e.loop.empty, empty)
	}})
	select {
	case <-empty:
		return
	case <-e.gone:
		return
	case <-ctx.Done():
	}
	// Mark first, abort then: what the abort fails is already on its way out as drained.
	e.say(message{run: func(now int64) {
		e.loop.cancelAll(now)
		e.loop.abandon()
	}})
	select {
	case <-empty:
	case <-e.gone:
	}
}

// Close ends everything that is left as drained, stops the loop and closes the device. Further calls return the same.
func (e *Engine) Close() error {
	e.once.Do(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		e.Drain(ctx)
		e.saying.Lock() // the loop still receives, so that whoever sends comes to an end
		e.shut = true
		e.saying.Unlock()
		close(e.stop)
		<-e.gone
		if err := e.cfg.Device.Close(); err != nil {
			e.closeErr = fmt.Errorf("close device: %w", err)
		}
	})
	return e.closeErr
}

// TenantHash is what policies, traces and logs know of a tenant; 0 is none.
func TenantHash(tenant string) uint64 {
	if tenant == "" {
		return 0
	}
	h := fnv.New64a()
	h.Write([]byte(tenant))
	return h.Sum64() | 1
}
