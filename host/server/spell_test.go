package server

import (
	"errors"
	"strings"
	"testing"

	"github.com/sluice-dev/sluice/gpu"
	"github.com/sluice-dev/sluice/gpu/sim"
)

// unread is a tokenizer that must not be given more than limit bytes.
type unread struct {
	sim.Tokenizer
	t     *testing.T
	limit int
}

func (u unread) Encode(text string, special bool) ([]gpu.Token, error) {
	if len(text) > u.limit {
		u.t.Errorf("%d bytes were tokenized, more than %d", len(text), u.limit)
	}
	return u.Tokenizer.Encode(text, special)
}

func TestATextThatCannotFitIsRefusedUnread(t *testing.T) {
	const context = 8
	tok := unread{t: t, limit: context * minLongest}
	s := &Server{cfg: Config{Tokenizer: tok, MaxModelLen: context}, maxText: context * longestToken(tok, sim.VocabSize)}
	for _, n := range []int{tok.limit + 1, 1 << 20} {
		if _, err := s.textPrompt(strings.Repeat(" ", n), true); err == nil || !strings.Contains(err.Error(), "context of 8 tokens") {
			t.Errorf("a prompt of %d bytes: %v", n, err)
		}
		if _, err := s.encode([]segment{{text: strings.Repeat(" ", n), client: true}}); err == nil {
			t.Errorf("a message of %d bytes was taken", n)
		}
	}
	if _, err := s.textPrompt(strings.Repeat(" ", tok.limit), true); err != nil {
		t.Errorf("a prompt that might fit: %v", err)
	}
}

// Each message brings special tokens of the template's own: once these alone fill the context, the rest is not tokenized.
func TestMessagesThatCannotFitAreRefusedBeforeAllAreTokenized(t *testing.T) {
	const context = 8
	tok := &counted{}
	s := &Server{cfg: Config{Tokenizer: tok, MaxModelLen: context}, maxText: 1 << 20}
	parts := make([]segment, 100)
	for i := range parts {
		parts[i] = segment{text: "<|im_start|>"}
	}
	_, err := s.encode(parts)
	if e, ok := errors.AsType[*apiError](err); !ok || e.code != codeContext || tok.calls > context {
		t.Errorf("%v, after %d calls", err, tok.calls)
	}
}

// counted is a tokenizer to which every text is one special token.
type counted struct {
	sim.Tokenizer
	calls int
}

func (c *counted) Encode(string, bool) ([]gpu.Token, error) { c.calls++; return []gpu.Token{0}, nil }
func (*counted) Piece(gpu.Token) []byte                     { return nil }
