package trace

// Version of the record format. A reader refuses a newer one.
const Version = 1

// Record is one request's row in the trace: the line of `sluice trace export`. A pointer that is nil was never reached
// and is absent in the JSON, which is not the same as 0. Durations are nanoseconds.
type Record struct {
	V            int    `json:"v"`
	ID           string `json:"id"`
	Arrival      int64  `json:"arrival_unix_ns"` // the wall clock when the request line was read
	Class        string `json:"class"`
	Tenant       string `json:"tenant,omitempty"` // a hash, never the client's own text
	Priority     int32  `json:"priority,omitempty"`
	Model        string `json:"model,omitempty"`
	Backend      string `json:"backend,omitempty"` // which device served it, where there are several
	Stream       bool   `json:"stream"`
	PromptTokens int    `json:"prompt_tokens"`
	MaxTokens    int    `json:"max_tokens"`
	OutputTokens int    `json:"output_tokens"`
	Attempt      int    `json:"attempt,omitempty"`
	TTL          int64  `json:"ttl_ns,omitempty"`
	Imported     string `json:"imported,omitempty"` // the foreign format it comes from: arrival and lengths only, nothing was measured

	Outcome    string `json:"outcome"`
	Status     int    `json:"status"` // HTTP
	Reason     string `json:"reason,omitempty"`
	RetryAfter int64  `json:"retry_after_ns,omitempty"`

	Queue   *int64 `json:"queue_ns,omitempty"`   // first scheduled - arrival
	TTFT    *int64 `json:"ttft_ns,omitempty"`    // first token emitted - arrival
	TPOT    *int64 `json:"tpot_ns,omitempty"`    // (last - first token) / (output_tokens - 1); absent below 2 tokens
	MaxGap  *int64 `json:"max_gap_ns,omitempty"` // largest gap between two emissions; absent below 2 emissions
	E2E     int64  `json:"e2e_ns"`
	Written *int64 `json:"first_write_ns,omitempty"` // first byte given to the socket - arrival

	Emissions    int   `json:"emissions"`
	Gaps         []Gap `json:"gaps,omitempty"`
	Preemptions  int   `json:"preemptions,omitempty"`
	TokensLost   int   `json:"tokens_lost,omitempty"`
	Requeued     int64 `json:"requeued_ns,omitempty"`
	CachedTokens int   `json:"cached_tokens,omitempty"`
	Drafted      int   `json:"drafted"`
	Accepted     int   `json:"accepted"`

	Admit      Decider `json:"admit"`
	Prioritize Decider `json:"prioritize"`
	Batch      Decider `json:"batch_cap"`
	Spec       Decider `json:"speculate"`
}

// Gap is one emission event: the time since the one before it (0 for the first) and its number of tokens.
type Gap struct {
	NS     int64 `json:"ns"`
	Tokens int   `json:"n"`
}

// Decider names who decided at one hook. Policy is "native" for the host's default.
type Decider struct {
	Policy   string `json:"policy"`
	Digest   string `json:"digest,omitempty"`   // sha256 of the module, hex
	Fallback bool   `json:"fallback,omitempty"` // the policy failed and the native default decided
}
