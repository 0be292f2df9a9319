// Package gpu is the device as the engine sees it: one forward pass over a mixed batch, and the few operations on the
// KV cache around it. gpu/llama runs llama.cpp on whatever it supports; gpu/sim computes what a step would cost.
//
// It is not a scheduler: what is in the batch, and which sequence holds which place, is decided by host/sched. It does
// not sample: logits go to host/spec.
//
//	err := dev.Forward(&gpu.Batch{Items: []gpu.Item{{Seq: 0, Pos: 0, Tokens: prompt, Logits: 1}}})
//	next := sampler.Sample(dev.Logits(0, 0), 0, prompt)
package gpu

import "errors"

// Token is an index into the model's vocabulary.
type Token = int32

// Errors of Forward. After ErrNoKV and ErrAborted the KV cache holds what it held before the call, but for parts of the
// batch that were already computed (trim to be sure). ErrBatch marks a batch that the device refuses before touching anything.
var (
	ErrNoKV    = errors.New("no KV cells left for this batch")
	ErrAborted = errors.New("forward pass aborted")
	ErrBatch   = errors.New("malformed batch")
)

// Info is what a device can do. It does not change after the device was opened.
type Info struct {
	Device         string // what computes: "cpu", "CUDA0", "sim"
	DeviceName     string // for people: "AMD EPYC ...", "NVIDIA H200"
	Model          string // id for /v1/models
	ModelPath      string
	VocabSize      int
	ContextTokens  int // longest sequence, prompt and output together
	KVTokens       int // tokens that all sequences together may hold
	MaxSeqs        int // sequence ids are 0..MaxSeqs-1
	MaxBatchTokens int // tokens of one Forward
	Warnings       []string
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
	// Abort makes a Forward that is running return ErrAborted soon. It has no effect on a later one.
	Abort()
	Close() error
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
