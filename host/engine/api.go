package engine

import (
	"github.com/sluice-dev/sluice/gpu"
	"github.com/sluice-dev/sluice/host/sched"
	"github.com/sluice-dev/sluice/host/spec"
)

// Request is what the server hands to Engine.Submit.
type Request struct {
	ID          string // as the client sees it, unique
	Arrival     int64  // Engine.Now when the request had come
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
	NoSpec      bool        // the client opted out of speculation
	TTFT        int64       // ns from Arrival for the first token; 0 = none. For policies; a miss ends nothing
	Logprobs    bool        // report the log probability of each token
	TopLogprobs int         // most probable tokens to report beside each, 0..MaxLogprobs
	Grammar     gpu.Grammar // nil = any token may follow; the engine closes it
}

// MaxLogprobs is the most alternatives that are reported beside a token.
const MaxLogprobs = 20

// Logprob is one token with the logarithm of its probability, before temperature and truncation.
type Logprob struct {
	Token gpu.Token
	Piece []byte
	Log   float64 // -Inf of a token that cannot come
}

// TokenProbs is what is reported of one token of the output.
type TokenProbs struct {
	Logprob
	Top []Logprob // most probable first
}

// Event is text that may be shown, with the tokens behind it. Text is valid UTF-8 and may be "" when tokens end inside a
// character or inside what may yet become a stop string; such tokens are counted in a later Event.
type Event struct {
	Text   string
	Tokens int
	Last   bool         // the end follows at once: Events is closed next
	Probs  []TokenProbs // where the request asked for them: of the tokens that begin in the texts so far and were not reported yet
}

// Result is how a request ended.
type Result struct {
	Outcome      sched.Outcome
	Finish       string // "stop" or "length" for completed and length; else ""
	Verdict      sched.Verdict
	PromptTokens int
	OutputTokens int
	CachedTokens int   // of the prompt, found in the prefix cache when it first ran
	Drafted      int   // draft tokens that were verified
	Accepted     int   // of them, those that became text
	Err          error // the device's, for failed; ErrSlowConsumer, ErrDraining
}
