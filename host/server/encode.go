package server

import (
	"slices"
	"strings"

	"github.com/sluice-dev/sluice/gpu"
)

// encode tokenizes a rendered conversation so that only the template's own special tokens are ones.
//
// In one piece the tokens are those that the model was trained on, since words and spaces may join across the borders of
// contents. That is safe when its special tokens are exactly the template's. Otherwise a content spells one: then each
// part is tokenized for itself, and contents without special tokens.
func (s *Server) encode(parts []segment) ([]gpu.Token, error) {
	var all strings.Builder
	var own []gpu.Token
	for _, p := range parts {
		all.WriteString(p.text)
		if !p.client {
			tokens, err := s.encodeText(p.text, true)
			if err != nil {
				return nil, err
			}
			if own = append(own, s.controls(tokens)...); len(own) >= s.cfg.MaxModelLen {
				return nil, badRequest("messages", codeContext, "the messages take more than the model's context of %d tokens", s.cfg.MaxModelLen)
			}
		}
	}
	tokens, err := s.encodeText(all.String(), true)
	if err == nil && !slices.Equal(s.controls(tokens), own) {
		tokens, err = s.encodeParts(parts)
	}
	if err != nil {
		return nil, err
	}
	return s.withBOS(tokens), nil
}

func (s *Server) encodeParts(parts []segment) ([]gpu.Token, error) {
	var all []gpu.Token
	for _, p := range parts {
		tokens, err := s.encodeText(p.text, !p.client)
		if err != nil {
			return nil, err
		}
		all = append(all, tokens...)
	}
	return all, nil
}

func (s *Server) encodeText(text string, special bool) ([]gpu.Token, error) {
	return s.spell("messages", text, special)
}

// spell tokenizes what stands under param. Tokenizing costs the same whether or not the result fits, so a text that cannot
// fit is refused unread: it has more bytes than a whole context of the longest tokens.
func (s *Server) spell(param, text string, special bool) ([]gpu.Token, error) {
	if len(text) > s.maxText {
		return nil, badRequest(param, codeContext, "the text has %d bytes, more than the model's context of %d tokens can hold", len(text), s.cfg.MaxModelLen)
	}
	tokens, err := s.cfg.Tokenizer.Encode(text, special)
	if err != nil {
		return nil, badRequest(param, codeValue, "%s cannot be tokenized: %v", param, err)
	}
	return tokens, nil
}

// minLongest stands for the spelling of special tokens, which have no text of their own.
const minLongest = 64

// longestToken is the most bytes that one token can stand for.
func longestToken(tok gpu.Tokenizer, vocab int) int {
	longest := minLongest
	for t := range gpu.Token(vocab) {
		longest = max(longest, len(tok.Piece(t)))
	}
	return longest
}

// controls are the tokens without text of their own: those that only a template may use.
func (s *Server) controls(tokens []gpu.Token) []gpu.Token {
	var out []gpu.Token
	for _, t := range tokens {
		if len(s.cfg.Tokenizer.Piece(t)) == 0 {
			out = append(out, t)
		}
	}
	return out
}
