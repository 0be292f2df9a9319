package llama

import (
	"fmt"
	"math"
	"strings"
	"sync"

	capi "github.com/hybridgroup/yzma/pkg/llama"
	"github.com/jupiterrider/ffi"

	"github.com/sluice-dev/sluice/gpu"
)

// Tokenizer is the vocabulary of an open model. All that Piece, IsEnd and the template need is copied out when the model
// is opened, so only Encode calls the library.
type Tokenizer struct {
	mu    sync.RWMutex // held for reading while the library works on vocab
	vocab capi.Vocab   // 0 after close

	text      []byte // the pieces of all tokens, one after the other
	ends      []uint32
	end       []bool
	bos       gpu.Token
	addsBOS   bool
	splitRuns bool
	template  string
	bosText   string
	eosText   string
}

func newTokenizer(model capi.Model, vocab capi.Vocab) *Tokenizer {
	t := &Tokenizer{vocab: vocab, bos: gpu.Token(capi.VocabBOS(vocab))}
	if capi.GetVocabType(vocab) == capi.VocabTypeNone {
		return &Tokenizer{} // asked for a piece, llama.cpp would end the process
	}
	n := int(capi.VocabNTokens(vocab))
	t.ends, t.end = make([]uint32, n), make([]bool, n)
	buf := make([]byte, 256)
	for i := range n {
		size := capi.TokenToPiece(vocab, capi.Token(i), buf, 0, false)
		if size < 0 {
			buf = make([]byte, -size)
			size = capi.TokenToPiece(vocab, capi.Token(i), buf, 0, false)
		}
		t.text = append(t.text, buf[:max(size, 0)]...)
		t.ends[i] = uint32(len(t.text))
		t.end[i] = capi.VocabIsEOG(vocab, capi.Token(i))
	}
	t.addsBOS = capi.VocabGetAddBOS(vocab) && t.bos >= 0 && int(t.bos) < n
	t.splitRuns = capi.GetVocabType(vocab) == capi.VocabTypeBPE
	t.template = capi.ModelChatTemplate(model, "")
	t.bosText = capi.VocabGetText(vocab, capi.Token(t.bos))
	t.eosText = capi.VocabGetText(vocab, capi.VocabEOS(vocab))
	return t
}

func (t *Tokenizer) close() {
	t.mu.Lock()
	t.vocab = 0
	t.mu.Unlock()
}

// Encode turns text into tokens, without BOS. Only with special do spellings of special tokens become those tokens.
// Bytes that are not UTF-8 become U+FFFD, and characters that the vocabulary cannot spell (some control characters) are
// lost, so text that is not empty may have no token. A NUL byte is an error that wraps ErrUsage.
func (t *Tokenizer) Encode(text string, special bool) ([]gpu.Token, error) {
	if i := strings.IndexByte(text, 0); i >= 0 {
		return nil, usagef("tokenize text: it has a NUL byte at offset %d", i)
	}
	t.mu.RLock()
	defer t.mu.RUnlock()
	if t.vocab == 0 {
		return nil, errClosed
	}
	var out []gpu.Token
	for text != "" {
		n := len(text)
		if t.splitRuns {
			n = cutRun(text)
		}
		part, err := t.encode(text[:n], special)
		if err != nil {
			return nil, err
		}
		if out == nil {
			out = part
		} else {
			out = append(out, part...)
		}
		text = text[n:]
	}
	return out, nil
}

// encode makes room for a token a byte. Only a byte that is not UTF-8 may become more: one U+FFFD, which has three bytes.
func (t *Tokenizer) encode(text string, special bool) ([]gpu.Token, error) {
	if len(text) > math.MaxInt32/4 {
		return nil, usagef("tokenize text: %d bytes are too many", len(text))
	}
	in := []byte(text)
	out := make([]gpu.Token, len(in)+8)
	n := t.call(in, out, special)
	if n < 0 && n > math.MinInt32 {
		out = make([]gpu.Token, -n)
		n = t.call(in, out, special)
	}
	if n < 0 || n > len(out) {
		return nil, fmt.Errorf("tokenize text: llama.cpp answers %d for %d bytes", n, len(text))
	}
	return out[:n:n], nil
}

// call is llama_tokenize: the number of tokens, or, where out is too short, that number negated.
func (t *Tokenizer) call(in []byte, out []gpu.Token, special bool) int {
	var rc ffi.Arg
	inPtr, inLen, outPtr, outLen := &in[0], int32(len(in)), &out[0], int32(len(out))
	var addSpecial, parseSpecial uint8
	if special {
		parseSpecial = 1
	}
	lib.fn.tokenize.Call(&rc, &t.vocab, &inPtr, &inLen, &outPtr, &outLen, &addSpecial, &parseSpecial)
	return int(int32(rc))
}

// Piece is the bytes of one token; control tokens and tokens outside the vocabulary have none. It must not be written.
func (t *Tokenizer) Piece(token gpu.Token) []byte {
	if token < 0 || int(token) >= len(t.ends) {
		return nil
	}
	start := uint32(0)
	if token > 0 {
		start = t.ends[token-1]
	}
	return t.text[start:t.ends[token]:t.ends[token]]
}

// IsEnd tells whether token ends a generation.
func (t *Tokenizer) IsEnd(token gpu.Token) bool {
	return token >= 0 && int(token) < len(t.end) && t.end[token]
}

// AddsBOS gives the BOS token when the model wants prompts to start with it.
func (t *Tokenizer) AddsBOS() (bos gpu.Token, ok bool) { return t.bos, t.addsBOS }

// ChatTemplate is the Jinja text out of the model's file, and the texts of BOS and EOS.
func (t *Tokenizer) ChatTemplate() (template, bos, eos string) {
	return t.template, t.bosText, t.eosText
}

var _ gpu.Tokenizer = (*Tokenizer)(nil)
