// Package gpu is the device as the engine sees it: one forward pass over a mixed batch, and the few operations on the
// KV cache around it. gpu/llama runs llama.cpp on whatever it supports; gpu/sim computes what a step would cost.
//
// It is not a scheduler: what is in the batch, and which sequence holds which place, is decided by host/sched. It does
// not sample: logits go to host/spec.
//
//	err := dev.Forward(&gpu.Batch{Items: []gpu.Item{{Seq: 0, Pos: 0, Tokens: prompt, Logits: 1}}})
//	row, err := dev.Logits(0, 0) // of the prompt's last token: what the next one is chosen by
package gpu

import "errors"

// Token is an index into the model's vocabulary.
type Token = int32

// Errors of Forward. After ErrNoKV, ErrMemory and ErrAborted the KV cache holds what it held before the call, but for parts of the
// batch that were already computed (trim to be sure). ErrBatch marks a batch that the device refuses before touching anything.
var (
	ErrNoKV    = errors.New("no KV cells left for this batch")
	ErrAborted = errors.New("forward pass aborted")
	ErrBatch   = errors.New("malformed batch")
	ErrMemory  = errors.New("the device is out of memory")
)

// ErrLost is wrapped by errors after which a device computes nothing until it was Reset.
var ErrLost = errors.New("the device has failed and must be reset")

// ErrUnsupported is what Copy, Save and Restore answer on a device that Info says cannot do it.
var ErrUnsupported = errors.New("the device cannot do this")

// Info is what a device can do. It does not change after the device was opened.
type Info struct {
	Device         string // what computes: "cpu", "CUDA0", "sim"
	DeviceName     string // for people: "AMD EPYC ...", "NVIDIA H200"
	Model          string // id for /v1/models
	ModelPath      string
	VocabSize      int
	ContextTokens  int // longest sequence, prompt and output together
	KVTokens       int // tokens that all sequences together may hold
	MaxSeqs        int // sequences of one Forward; sequence ids are 0..MaxSeqs+SpareSeqs-1
	SpareSeqs      int // further sequences that may be held, for prefixes that nothing runs on at present
	MaxBatchTokens int // tokens of one Forward

	WideRows int    // rows of a Forward from which on another kernel computes attention, at another price; 0 = there is one for all
	CopyMin  int    // fewest tokens for which Copy is cheaper than to compute them; 0 = the device cannot copy
	SharedKV bool   // what was copied is held once, however many sequences have it
	CanSave  bool   // Save and Restore work
	Drafter  string // the name of the Drafter beside it; "" = none
	Warnings []string
}

// Item is one sequence's part of a batch: Tokens at positions Pos, Pos+1, ... The sequence must hold exactly the
// positions below Pos. Logits of the last Logits tokens are kept.
type Item struct {
	Seq    int
	Pos    int
	Tokens []Token
	Logits int
}

// Batch is one forward pass. A sequence stands in it at most once.
type Batch struct {
	Items []Item
}

// Device computes forward passes. All methods but Abort are called from one goroutine at a time; Abort from any.
type Device interface {
	Info() Info
	// Forward computes the batch and blocks until it is done.
	Forward(b *Batch) error
	// Logits returns the i-th kept row of the item-th item of the last Forward, VocabSize long. It is valid until the
	// next Forward and must not be written. A row that was not asked for, or that is not there, is an error.
	Logits(item, i int) ([]float32, error)
	// Trim forgets the positions of seq from pos on. Trim(seq, 0) forgets the sequence.
	Trim(seq, pos int) error
	// Copy makes to, which must be empty, hold the first n positions of from.
	Copy(from, to, n int) error
	// Save returns what seq holds, for Restore on the same device. The sequence stays as it is.
	Save(seq int) (*Saved, error)
	// Restore makes seq, which must be empty, hold what was saved. A Saved may be restored any number of times.
	Restore(seq int, s *Saved) error
	// Abort makes a Forward that is running return ErrAborted soon. It has no effect on a later one.
	Abort()
	Close() error
}

// Resetter is a Device that can begin anew after ErrLost: what it held is gone, and it computes again. What was saved before can
// still be restored. It is called from the device's goroutine.
type Resetter interface {
	Reset() error
}

// Recycler is a Device that saves into memory that it has saved into before: new memory takes longer to come by than to fill.
// Recycle takes a Saved that nobody restores any more. It is called from the device's goroutine.
type Recycler interface {
	Recycle(*Saved)
}

// Saved is the KV of one sequence outside the device. Only the device that made it can read it; it never comes from outside the
// process.
type Saved struct {
	Tokens int    // positions held
	Data   []byte // with a checksum
	State  any    // what a drafter keeps beside it
}

// Drafter is a model beside a device that guesses how its sequences go on: a small model, or a head on the device's own
// hidden states. Its sequences are the device's: Trim, Copy, Save and Restore of the device act on both. It is called from the
// device's goroutine.
type Drafter interface {
	Name() string // "draft-model", "eagle3", "mtp"
	// Observe is called after each Forward without an error, and before the next one, with the number of tokens of each item that
	// stay: those that were known, and the drafts that were accepted.
	Observe(b *Batch, kept []int) error
	// Draft guesses for all rows at once.
	Draft(rows []DraftRow) error
}

// DraftRow is what a Drafter is asked for one sequence.
type DraftRow struct {
	Seq     int
	History []Token // all known tokens; the device holds all but the last one
	Max     int     // most drafts, >= 1
	// Pick chooses the i-th draft from its row of logits, which is valid during the call only; a negative token ends the row's
	// drafts. nil takes the most probable one.
	Pick  func(i int, logits []float32) Token
	Draft []Token // what Draft found: at most Max, appended to Draft[:0]
}

// Grammar restricts what may be written next. It belongs to one request and to one goroutine at a time.
type Grammar interface {
	// Allows tells whether t may come next.
	Allows(t Token) bool
	// Mask sets the logits of all tokens that may not come next to -Inf.
	Mask(logits []float32)
	// Accept moves on by t, which must be allowed.
	Accept(t Token)
	Close()
}

// Costs are measured times of a device's steps, in ns. 0 = not measured.
type Costs struct {
	// Step is a step of B sequences with k+1 rows each, by bucket of B (1 2 4 8 16 32 64 128) and k (0 to 15).
	Step         [8][16]int64
	PrefillToken int64 // one more prompt token in a step, at the beginning of its sequence
	// PrefillFar is what a prompt token costs more for each 1,024 tokens before it in its sequence, and PrefillFarWide the same in a
	// step of WideRows rows and more, where that is another figure (see Info.WideRows).
	PrefillFar, PrefillFarWide int64
	WideRows                   int
	DraftToken                 int64 // drafting one token for one sequence
	SaveToken                  int64 // Save and Restore together, a token
	Copy                       int64 // one Copy, whatever its length
	HeldToken                  int64 // each token that a sequence outside the step holds, for each row of the step
}

// Tokenizer turns text into tokens and back. Its methods may be called from any goroutine.
type Tokenizer interface {
	// Encode tokenizes text. Only with special do spellings of special tokens ("<|im_end|>") become those tokens.
	// A NUL byte in the text is an error.
	Encode(text string, special bool) ([]Token, error)
	// Piece is the bytes of one token; they may be part of a UTF-8 character. Control tokens have none.
	Piece(t Token) []byte
	// IsEnd tells whether the model says with t that it is done.
	IsEnd(t Token) bool
	// AddsBOS tells whether a prompt starts with BOS by the model's own setting.
	AddsBOS() (bos Token, ok bool)
	// ChatTemplate is the model's Jinja template, "" when it has none; BOS and EOS are the texts it may use.
	ChatTemplate() (template, bos, eos string)
}
