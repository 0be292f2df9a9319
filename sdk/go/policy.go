package sluice

// Bounds of one call.
const (
	MaxRows  = 256 // rows, and events
	Classes  = 16  // request classes; 0 is the default and the most important one
	MaxDraft = 15  // draft tokens for one row of one step
)

// Durations in nanoseconds, the unit of every time in State and Row.
const (
	Millisecond = 1_000_000
	Second      = 1000 * Millisecond
	Minute      = 60 * Second
	Hour        = 60 * Minute
)

// One is the ratio 1.0 in parts per million.
const One = 1_000_000

// Configurer takes the configuration: the KEY=VALUE of `sluice policy push --set KEY=VALUE`. It is called before every
// other method, also when nothing was set, so that defaults stand in one place. What it does not ask c for is refused as an
// unknown key, and a value that a getter could not read is refused as well: both without any code of the policy's. An error
// that Configure returns is shown to whoever pushed the policy.
//
// A policy without it takes no configuration.
type Configurer interface {
	Configure(c *Config) error
}

// FieldReader declares which groups of fields the policy reads, so that the host computes and copies no others. It is asked
// once, when the policy registers. A policy without it is given everything. What is read without being declared is
// unspecified, and a module whose decisions depend on it is refused.
type FieldReader interface {
	Reads() Group
}

// Admitter judges requests: each once when it arrives (PhaseArrival), and again and again while it waits (PhaseQueued).
//
// # Notes
//
//   - out[i] belongs to rows[i] and says Abstain() until the policy writes it: the next policy or the host's default decides.
//   - A request that runs or has run is never judged. Rows in other phases are to be left alone.
//   - A rejection of a waiting request ends it; any other verdict lets it wait on.
type Admitter interface {
	Admit(st *State, rows []Row, out []Verdict)
}

// Prioritizer ranks waiting requests (PhaseQueued) against each other and running ones (PhaseRunning) as victims.
//
// # Notes
//
//   - The lowest Score enters the batch first; equal ones keep the host's order: the client's priority, then arrival.
//   - A row with RankFlagMayPreempt may take the place of a running row whose Score is greater; of several, the one
//     with the highest VictimRank.
//   - Returning false leaves the order to the host.
type Prioritizer interface {
	Prioritize(st *State, rows []Row, out []Ranking) (decided bool)
}

// BatchCapper limits the batch before a step is built. Fields of out that stay 0 mean the host's own limit, and returning
// false means it for all of them.
type BatchCapper interface {
	BatchCap(st *State, out *BatchPlan) (decided bool)
}

// Speculator says how many tokens to draft. It is asked before each step in which something decodes, if the server has a
// drafter. k[i] is for rows[i] and is -1, out.K's value, until the policy writes it. Returning false means no speculation.
type Speculator interface {
	Speculate(st *State, rows []Row, out *SpecPlan, k []int32) (decided bool)
}

// EventSink hears once per step what happened since the last one. It decides nothing.
type EventSink interface {
	Events(st *State, events []Event)
}

// StateSaver carries what a policy has learned over to the next version of it at a hot swap.
//
// # Notes
//
//   - Save appends to to, which has room for SaveRoom bytes, and returns the result; nothing appended means nothing to keep.
//   - Restore comes after Configure. from may have been written by another version of the policy, so begin it with a
//     version of your own and check everything. An error costs the state and nothing else: the policy starts afresh.
type StateSaver interface {
	Save(to []byte) []byte
	Restore(from []byte) error
}

// SaveRoom is the capacity of the buffer that Save appends to, in bytes.
const SaveRoom = 4096
