package sched

import (
	"fmt"

	"github.com/sluice-dev/sluice/host/spec/goodput"
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
	spoiled   bool // its step failed: nobody knows what its sequence holds
	cancel    Outcome
	seq       int      // -1 = none
	blocks    int      // KV blocks held
	hashes    []uint64 // of the full blocks of the known tokens, as far as they are known
	hit       int      // of them, those that the prefix cache had when it was last asked
	inCache   int      // prompt tokens of it in Core.inCache
	source    int32    // sequence that its prefix is copied from in this step, or none
	reloaded  uint64   // id of the offloaded prefix that it entered with; 0 = none
	reached   int      // tokens computed before the preemption
	saved     int      // tokens kept outside the device; 0 = none
	maxTokens int      // MaxTokens after the context and the policies' caps
	specCap   int      // -1 = none
	offered   int      // draft tokens that there are for its next step
	ngram     int      // length of the n-gram that they follow; 0 = none
	drafts    goodput.History
	expires   int64 // end of its time in the queue; 0 = none
	queuedAt  int64 // start of the present wait
	bypassed  int

	turn, lifted bool // it has aged, and it is its turn to get a place; then it stands ahead of the policies' order
	aged         bool // it got its place that way

	behind       *Request // computes a prefix that it waits for, or did when that was last looked at
	behindBlocks int      // of that prefix
	prev, next   *Request

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
	ComputedTokens    uint64 // known tokens computed, again or for the first time
	PrefillTokens     uint64
	OutputTokens      uint64
	Drafts            uint64 // rows of steps in which drafts were verified
	Drafted, Accepted uint64 // draft tokens
	Forced            uint64 // heads that ran against the policies' will, so that something runs
	Aged              uint64 // requests that ran ahead of the policies' order, since they had waited for too long
	Rejecting         uint64 // spans of Config.RejectingAfter in which requests were rejected and none got a place
	Infeasible        uint64 // requests that could never fit
	Refused           [abi.Classes]Refusals
	Clamped           uint64 // values of policies that were beyond a hard limit
	PrefixQueries     uint64 // prompt tokens looked up in the prefix cache
	PrefixHits        uint64 // of them, those found
	EvictedBlocks     uint64 // cached KV blocks given up for others, or since they slowed the steps
	Saves, Restores   uint64 // preempted requests whose KV was kept outside the device, and those that got it back
	SavedTokens       uint64
	RestoredTokens    uint64
	OffloadedTokens   uint64               // of prefixes that were given up and kept outside the device
	ReloadedTokens    uint64               // of them, those that came back
	AcceptedAt        [abi.MaxDraft]uint64 // by position; rows that ended with the step are left out
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
	kv       kvCache
	inCache  int              // prompt tokens in the queue that the prefix cache had when it was last asked
	deferred int              // requests that wait for a prefix which is being computed
	inClass  [abi.Classes]int // running requests
	flying   *Batch
	ended    []*Request
	spare    []*Request // the buffer that TakeEnded gave out last

	waitingTokens int
	waitingBytes  int64
	lines         [abi.Classes]line
	tenants       tenantTable
	judgeFrom     int   // where the next tick goes on judging the queue
	nextExpiry    int64 // nothing runs out of time before
	pausedAt      int64
	rejecting     int64 // since when there are only rejections; 0 = there is none
	entries       int   // requests that got a place since the last one that was lifted

	pace    pace
	goodput *goodput.Controller
	notices noticeLog

	stats  Stats
	win    windows
	stall  int64 // since when something waits and nothing runs; 0 = not so
	events []abi.Event

	plan     heldPlan
	spec     heldSpec
	lastKNow int

	state      abi.State
	rows       []abi.Row
	verdicts   []abi.Verdict
	by         []abi.PolicyID
	ranks      []abi.Ranking
	ks         []int32
	pick       []*Request // scratch: whom rows shows
	batch      Batch
	decoding   []int         // scratch: rows of the batch that decode
	drafts     []goodput.Row // scratch: of the same, what they may draft
	ranked     []*Request    // the waiting requests that the policies ranked for this step, best first
	order      []*Request    // scratch: the queue in the order in which it should enter
	late       []*Request    // scratch
	prefilling []*Request    // scratch
	lifted     []*Request    // whose turn it is by age
	blocked    []*Request    // scratch: who lacks KV blocks in this step
}

// New returns an idle scheduler; a nil policy means native defaults. It fails when cfg does not validate.
func New(cfg Config, policy abi.Decider) (*Core, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	c := &Core{
		cfg: cfg, byID: map[uint64]*Request{}, kv: newKVCache(&cfg), tenants: newTenantTable(),
		nextExpiry: never, pace: newPace(&cfg.Costs), goodput: goodput.New(cfg.Costs),
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

// Config returns the limits that the Core was made with.
func (c *Core) Config() Config { return c.cfg }

// Stats returns the counters.
func (c *Core) Stats() Stats {
	s := c.stats
	s.EvictedBlocks = c.kv.evicted
	s.OffloadedTokens, s.ReloadedTokens = c.kv.outside.offloaded, c.kv.outside.reloaded
	return s
}

// RecomputePPM is the share of the computed tokens that preemptions made the device compute again, in millionths.
func (s *Stats) RecomputePPM() uint32 { return ppm(s.RecomputedTokens, s.ComputedTokens) }

// Waiting is the number of requests in the queue, preempted ones included.
func (c *Core) Waiting() int { return len(c.waiting) + len(c.resuming) }

// Running is the number of requests that hold a place.
func (c *Core) Running() int { return len(c.running) }

// BlocksUsed is the number of KV blocks that requests hold.
func (c *Core) BlocksUsed() int { return c.cfg.Blocks - c.kv.available() }

// BlocksCached is the number of further KV blocks that only the prefix cache holds.
func (c *Core) BlocksCached() int { return c.kv.cached }

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
		c.vacateSeat(r, as != OutcomeFailed)
	case placeEnded:
		panic(fmt.Sprintf("BUG: request %d ends a second time, as %v after %v", r.ID, as, r.Outcome))
	}
	c.forget(r)
	delete(c.byID, r.ID)
	r.core.place, r.Outcome, r.Ended = placeEnded, as, now
	c.refused(now, r, as)
	c.stats.Ended[as]++
	c.win.ended(now, r)
	c.event(abi.EventKindEnded, now, r, int64(as))
	c.ended = append(c.ended, r)
}

// vacateSeat gives back seat and KV blocks. What the device knows of r stays cached while there is room, if keep says so and
// nothing went wrong.
func (c *Core) vacateSeat(r *Request, keep bool) {
	c.kv.leave(r, keep && !r.core.spoiled && !c.pressure.NoCache)
	c.running = remove(c.running, r)
	c.inClass[r.Class]--
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
