package sched

import "github.com/sluice-dev/sluice/plugins/abi"

// Outcome is how a request ended: exactly one for each request. The sum over all outcomes equals the arrivals.
type Outcome uint8

// The outcomes. OutcomeNone is a request that has not ended.
const (
	OutcomeNone             Outcome = iota
	OutcomeCompleted                // the model said that it was done, or a stop string matched
	OutcomeLength                   // max_tokens or the context's end was reached
	OutcomeShedAtArrival            // rejected before it entered the queue
	OutcomeShedFromQueue            // rejected by a policy while it waited
	OutcomeExpired                  // its TTL passed while it waited, or its deadline before it was done
	OutcomeCancelledInQueue         // the client went away before it ever ran
	OutcomeCancelledRunning         // the client went away, or read too slowly, after it had run
	OutcomeFailed                   // the device failed
	OutcomePreemptFailed            // preempted more often than the limit allows
	OutcomeDrained                  // the server shut down before it was done
	outcomes
)

var outcomeNames = [outcomes]string{
	"none", "completed", "length", "shed_at_arrival", "shed_from_queue", "expired",
	"cancelled_in_queue", "cancelled_running", "failed", "preempt_failed", "drained",
}

// String returns the outcome's name as it stands in traces and metrics.
func (o Outcome) String() string {
	if o < outcomes {
		return outcomeNames[o]
	}
	return "unknown"
}

// Outcomes lists every outcome that ends a request.
func Outcomes() []Outcome {
	all := make([]Outcome, 0, outcomes-1)
	for o := OutcomeCompleted; o < outcomes; o++ {
		all = append(all, o)
	}
	return all
}

// Request is one request in the scheduler. Whoever calls Arrive fills the first group and must not touch the request
// again until it comes back from TakeEnded; the second group may be read then.
type Request struct {
	ID           uint64 // unique among the requests of a Core, 1..1<<63-1
	Class        uint8  // 0..abi.Classes-1
	Priority     int32  // lower = earlier
	Tenant       uint64 // hash; 0 = none
	PromptTokens int    // > 0
	PromptBytes  int    // size of the request as it came, for the queue's byte limit
	MaxTokens    int    // > 0
	Arrival      int64  // ns; when the request line was read
	TTL          int64  // ns from Arrival in the queue; 0 = none
	Deadline     int64  // ns on the clock for the whole answer: the request ends then, also while it runs; 0 = none
	TTFTDeadline int64  // ns on the clock for the first token, for policies: it ends nothing; 0 = none
	Attempt      int
	Stream       bool
	NoSpec       bool     // the client opted out of speculation
	Hashes       []uint64 // of each full KV block of the prompt, each over all tokens up to the block's end; nil = never shared

	Enqueued   int64 // when it entered the queue; 0 = never
	Scheduled  int64 // when it first got a place; 0 = never
	FirstToken int64 // 0 = never
	LastToken  int64 // 0 = never
	Ended      int64
	MaxGap     int64 // largest gap between two emissions; 0 with fewer than two
	Requeued   int64 // ns in the queue after preemptions

	Computed    int // tokens whose KV the device holds
	Generated   int // tokens emitted
	Emissions   int // steps that emitted at least one token
	Preemptions int
	TokensLost  int
	Cached      int // prompt tokens that were found in the prefix cache when it first ran
	Drafted     int
	Accepted    int

	Outcome Outcome
	Verdict Verdict // of the rejection; zero for what was never refused

	// Who decided, for the trace.
	AdmitBy, PriorityBy, BatchBy, SpecBy abi.PolicyID

	core coreState
}

// Verdict is how admission judged a request, with everything resolved.
type Verdict struct {
	Status     int        // 400, 429, 503, 504 or 529 for a rejection
	Reason     abi.Reason // why
	RetryAfter int64      // ns, whole seconds; 0 = waiting cannot help
	Limit      string     // the hard limit that refused it: "queue_requests", "queue_tokens", "queue_bytes", "kv_cache", "context", "draining", "memory", "preemptions"; "" = a policy or TTL
}

// Batch is one device step.
type Batch struct {
	Step   uint64
	Rows   []Row
	Tokens int     // tokens of all rows without drafts
	Ops    []Op    // what the device does to its KV cache before the step, in this order
	Spec   SpecCfg // how to draft

	started  int64 // when it was planned
	decoding int   // rows that produce their next token
}

// OpKind is what an Op does.
type OpKind uint8

// The kinds of Op.
const (
	OpTrim    OpKind = iota // Seq holds its first Tokens tokens from now on
	OpCopy                  // Seq, which is empty, gets the first Tokens tokens of From
	OpSave                  // what Seq holds is kept outside the device as ID's: a request's, or a prefix's
	OpRestore               // Seq, which is empty, gets what was kept as ID's, which is then forgotten unless Keep is set
	OpForget                // what was kept as ID's is forgotten
)

// Op changes what the device's sequences hold.
type Op struct {
	Kind   OpKind
	Seq    int
	From   int
	Tokens int
	ID     uint64
	Keep   bool
}

// SpecCfg is the speculation plan of one step after clamping.
type SpecCfg struct {
	NgramMin, NgramMax int
	VerifySlots        int // draft tokens in the whole step; 0 = no limit
}

// Row is one request's part of a step: its known tokens Start..Start+Tokens-1, and up to Draft draft tokens after them.
type Row struct {
	Req    *Request
	Seq    int  // its place, 0..MaxSeqs+SpareSeqs-1
	Start  int  // tokens already computed
	Tokens int  // tokens to compute, >= 1
	Sample bool // the row reaches the end of the known tokens: it emits
	Draft  int  // most draft tokens that may be verified; 0 when not Sample
}

// Result is what a step did for one row, in the order of Batch.Rows.
type Result struct {
	Emitted int     // tokens emitted: 1..Drafted+1 when Sample and the device did not fail; fewer only when Done
	Drafted int     // draft tokens verified, 0..Row.Draft
	Done    Outcome // OutcomeNone to go on
	Lost    bool    // nothing was computed: the device does not hold the tokens before the row. They are computed again

	Hashes    []uint64 // of the KV blocks that the emitted tokens filled, as in Request.Hashes; nil = never shared
	HitLength int      // of the n-gram that matches at the end of the text now; 0 = none
	Available int      // draft tokens that it offers for the next step
}
