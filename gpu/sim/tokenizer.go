package sim

import (
	"fmt"
	"strings"

	"github.com/sluice-dev/sluice/gpu"
)

// The vocabulary: the 256 bytes, then the markers of a turn.
const (
	TokenStart gpu.Token = 256 + iota
	TokenEnd
	VocabSize = 258
)

const (
	startText = "<|im_start|>"
	endText   = "<|im_end|>"
)

// template renders a conversation in the form that many small models use.
const template = "{% for message in messages %}" + startText + "{{ message['role'] }}\n{{ message['content'] }}" + endText + "\n{% endfor %}" +
	"{% if add_generation_prompt %}" + startText + "assistant\n{% endif %}"

// Tokenizer makes each byte a token. The zero value is ready; its methods may be called from any goroutine.
type Tokenizer struct{}

// Encode turns text into its bytes and, when special, the markers of a turn into their tokens.
func (Tokenizer) Encode(text string, special bool) ([]gpu.Token, error) {
	if i := strings.IndexByte(text, 0); i >= 0 {
		return nil, fmt.Errorf("tokenize: NUL byte at %d", i)
	}
	out := make([]gpu.Token, 0, len(text))
	for len(text) > 0 {
		switch {
		case special && strings.HasPrefix(text, startText):
			out, text = append(out, TokenStart), text[len(startText):]
		case special && strings.HasPrefix(text, endText):
			out, text = append(out, TokenEnd), text[len(endText):]
		default:
			out, text = append(out, gpu.Token(text[0])), text[1:]
		}
	}
	return out, nil
}

// Piece is the token's byte; the markers of a turn have none.
func (Tokenizer) Piece(t gpu.Token) []byte {
	if t < 0 || t > 255 {
		return nil
	}
	return []byte{byte(t)}
}

// IsEnd tells whether t ends a turn.
func (Tokenizer) IsEnd(t gpu.Token) bool { return t == TokenEnd }

// AddsBOS is false: prompts start as they are.
func (Tokenizer) AddsBOS() (gpu.Token, bool) { return 0, false }

// ChatTemplate returns the template and the texts that it may use.
func (Tokenizer) ChatTemplate() (tmpl, bos, eos string) { return template, "", endText }

var _ gpu.Tokenizer = Tokenizer{}
