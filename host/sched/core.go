package sched

import (
	"fmt"

	"github.com/sluice-dev/sluice/plugins/abi"
)

// place is where a request stands in the scheduler.
type place uint8

const (
	placeNone    place = iota // not arrived yet
	placeWaiting              // in the queue, or preempted and waiting to go on
	placeRunning              // holds a seat and KV blocks
	placeEnded
)

// coreState is what only the scheduler knows of a request.
type coreState struct {
	place     place
	preempted bool // waits to go on after a preemption
	flying    bool // stands in the step that the device computes now
	cancel    Outcome
	seq       int
	blocks    int   // KV blocks held
	maxTokens int   // MaxTokens after the context and the policies' caps
	specCap   int   // -1 = none
	expires   int64 // end of its time in the queue; 0 = none
	queuedAt  int64 // start of the present wait
	bypassed  int

	score, victim int64
	flags         abi.RankFlag
}

// Stats counts since the Core was made.
type Stats struct {
	Arrived, Admitted uint64
	Ended             [outcomes]uint64
	Steps             uint64
	Preemptions       uint64
	RecomputedTokens  uint64 // computed a second time
	PrefillTokens     uint64
	OutputTokens      uint64
	Drafted, Accepted uint64
	Forced            uint64 // heads that ran against the policies' will, so that something runs
	Clamped           uint64 // values of policies that were beyond a hard limit
	AcceptedAt        [abi.MaxDraft]uint64
	DraftedAt         [abi.MaxDraft]uint64
}

// Core is the scheduler. See the package comment for how it is driven.
type Core struct {
	cfg    Config
	policy abi.Decider
	hooks  abi.Hook
	reads  abi.Group // what the policies read of a snapshot
	epoch  uint32
	host   abi.HostState

	pressure Pressure

	byID     map[uint64]*Request
	waiting  []*Request // never ran; in native order
	resuming []*Request // preempted; in the order of their first scheduling
	running  []*Request // in the order of their scheduling
	seats    []*Request // by sequence id
	vacate   []int
	free     int // KV blocks
	flying   *Batch
	ended    []*Request
	spare    []*Request // the buffer that TakeEnded gave out last

	waitingTokens int
	waitingBytes  int64
	tenants       tenantTable
	judgeFrom     int // where the next tick goes on judging the queue

	stats  Stats
	win    windows
	stall  int64 // since when something waits and nothing runs; 0 = not so
	events []abi.Event

	plan     heldPlan
	spec     heldSpec
	lastKNow int

	state    abi.State
	rows     []abi.Row
	verdicts []abi.Verdict
	by       []abi.PolicyID
	ranks    []abi.Ranking
	ks       []int32
	pick     []*Request // scratch: whom rows shows
	batch    Batch
	decoding []int      // scratch: rows of the batch that decode
	order    []*Request // scratch: the queue in the policy's order
}

// New returns an idle scheduler; a nil policy means native defaults. It fails when cfg does not validate.
func New(cfg Config, policy abi.Decider) (*Core, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	c := &Core{
		cfg: cfg, byID: map[uint64]*Request{}, free: cfg.Blocks,
		seats: make([]*Request, cfg.MaxSeqs), tenants: newTenantTable(),
		rows: make([]abi.Row, abi.MaxRows), verdicts: make([]abi.Verdict, abi.MaxRows),
		by: make([]abi.PolicyID, abi.MaxRows), ranks: make([]abi.Ranking, abi.MaxRows), ks: make([]int32, abi.MaxRows),
	}
	c.SetPolicies(policy, 0)
	return c, nil
}

// SetPolicies puts another set of policies in charge from the next decision on; nil means native defaults. It is called
// between Complete and the next Plan, so one step never sees two sets.
func (c *Core) SetPolicies(p abi.Decider, epoch uint32) {
	c.policy, c.epoch, c.hooks, c.reads = p, epoch, 0, 0
	if p != nil {
		c.hooks, c.reads = p.Hooks(), p.Reads()
	}
	if !c.hooks.Has(abi.HookEvents) {
		c.events = c.events[:0] // nobody is left to hear them
	}
	c.plan, c.spec = heldPlan{}, heldSpec{}
}

// SetHostState says that the host serves, drains (arrivals are refused) or is paused (no step starts).
func (c *Core) SetHostState(s abi.HostState) { c.host = s }

// Config returns the limits that the Core was made with.
func (c *Core) Config() Config { return c.cfg }

// Stats returns the counters.
func (c *Core) Stats() Stats { return c.stats }

// Waiting is the number of requests in the queue, preempted ones included.
func (c *Core) Waiting() int { return len(c.waiting) + len(c.resuming) }

// Running is the number of requests that hold a place.
func (c *Core) Running() int { return len(c.running) }

// BlocksUsed is the number of KV blocks held.
func (c *Core) BlocksUsed() int { return c.cfg.Blocks - c.free }

// Idle reports whether nothing waits and nothing runs.
func (c *Core) Idle() bool { return len(c.byID) == 0 }

// TakeEnded returns the requests that ended since the last call. The slice is valid until the next call.
func (c *Core) TakeEnded() []*Request {
	out := c.ended
	c.ended, c.spare = c.spare[:0], out
	return out
}

// Cancel ends a request for a reason outside the scheduler: as is OutcomeCancelledRunning, OutcomeFailed or
// OutcomeDrained. One that never ran ends as OutcomeCancelledInQueue in place of the first. A request in the step that
// the device computes now gives back its place in Complete. Cancel reports whether the request was there.
func (c *Core) Cancel(now int64, id uint64, as Outcome) bool {
	r := c.byID[id]
	if r == nil {
		return false
	}
	if r.core.flying {
		if r.core.cancel == OutcomeNone {
			r.core.cancel = as
		}
		return true
	}
	if as == OutcomeCancelledRunning && r.Scheduled == 0 {
		as = OutcomeCancelledInQueue
	}
	c.end(now, r, as)
	return true
}

// end is the one way out: it releases everything that r holds, once.
func (c *Core) end(now int64, r *Request, as Outcome) {
	switch r.core.place {
	case placeWaiting:
		c.dequeue(r)
		if r.core.preempted {
			r.Requeued += now - r.core.queuedAt
		}
	case placeRunning:
		c.vacateSeat(r)
	case placeEnded:
		panic(fmt.Sprintf("BUG: request %d ends a second time, as %v after %v", r.ID, as, r.Outcome))
	}
	delete(c.byID, r.ID)
	r.core.place, r.Outcome, r.Ended = placeEnded, as, now
	c.stats.Ended[as]++
	c.win.ended(now, r)
	c.event(abi.EventKindEnded, now, r, int64(as))
	c.ended = append(c.ended, r)
}

// vacateSeat gives back seat and KV blocks. The device drops the KV before the next step.
func (c *Core) vacateSeat(r *Request) {
	c.free += r.core.blocks
	r.core.blocks = 0
	c.seats[r.core.seq] = nil
	c.vacate = append(c.vacate, r.core.seq)
	c.running = remove(c.running, r)
	c.tenants.get(r.Tenant).running--
}

func (c *Core) event(kind abi.EventKind, now int64, r *Request, value int64) {
	if c.hooks.Has(abi.HookEvents) {
		if len(c.events) == abi.MaxRows {
			c.deliverEvents()
		}
		c.events = append(c.events, abi.Event{ID: r.ID, AtNS: now, Value: value, Kind: uint8(kind), Class: r.Class})
	}
}

// remove deletes r from list and keeps the order.
func remove(list []*Request, r *Request) []*Request {
	for i, x := range list {
		if x == r {
			return append(list[:i], list[i+1:]...)
		}
	}
	panic(fmt.Sprintf("BUG: request %d is not in the list that it says it is in", r.ID))
}
