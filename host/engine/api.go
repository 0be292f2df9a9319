package engine

import (
	"github.com/sluice-dev/sluice/gpu"
	"github.com/sluice-dev/sluice/host/sched"
	"github.com/sluice-dev/sluice/host/spec"
)

// Request is what the server hands to Engine.Submit.
type Request struct {
	ID          string // as the client sees it, unique
	Arrival     int64  // Engine.Now when the request line was read
	Prompt      []gpu.Token
	PromptBytes int // size of the body
	MaxTokens   int // > 0
	Stop        []string
	IgnoreEOS   bool
	Sampling    spec.Params
	Class       uint8
	Priority    int32
	Tenant      string
	TTL         int64 // ns in the queue; 0 = none
	Deadline    int64 // ns from Arrival for the whole answer; 0 = none
	Attempt     int
	Stream      bool
	NoSpec      bool // the client opted out of speculation
}

// Event is text that may be shown, with the tokens behind it. Text is valid UTF-8 and may be "" when tokens end inside a
// character or inside what may yet become a stop string; such tokens are counted in a later Event.
type Event struct {
	Text   string
	Tokens int
}

// Result is how a request ended.
type Result struct {
	Outcome      sched.Outcome
	Finish       string // "stop" or "length" for completed and length; else ""
	Verdict      sched.Verdict
	PromptTokens int
	OutputTokens int
	Err          error // the device's, for failed; ErrSlowConsumer, ErrDraining
}
