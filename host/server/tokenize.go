package server

import (
	"encoding/json"

	"github.com/gofiber/fiber/v2"
	"github.com/sluice-dev/sluice/gpu"
)

// tokenizeRequest has a prompt or messages, as vLLM has it.
type tokenizeRequest struct {
	Model            string          `json:"model"`
	Prompt           json.RawMessage `json:"prompt"`
	Messages         []chatMessage   `json:"messages"`
	AddSpecial       *bool           `json:"add_special_tokens"`    // of a prompt; absent = true
	GenerationPrompt *bool           `json:"add_generation_prompt"` // of messages; absent = true
	Texts            bool            `json:"return_token_strs"`
}

type tokenizeResponse struct {
	Count       int         `json:"count"`
	MaxModelLen int         `json:"max_model_len"`
	Tokens      []gpu.Token `json:"tokens"`
	Texts       []string    `json:"token_strs"`
}

func (s *Server) tokenize(c *fiber.Ctx) error {
	body, err := s.requestBody(c)
	if err != nil {
		return err
	}
	var r tokenizeRequest
	if err := decodeBody(body, &r); err != nil {
		return err
	}
	if err := s.checkModel(r.Model); err != nil {
		return err
	}
	yes := func(p *bool) bool { return p == nil || *p }
	var tokens []gpu.Token
	if r.Messages != nil {
		tokens, err = s.chatPrompt(r.Messages, yes(r.GenerationPrompt))
	} else {
		tokens, err = s.rawPrompt(r.Prompt, yes(r.AddSpecial))
	}
	if err != nil {
		return err
	}
	out := tokenizeResponse{Count: len(tokens), MaxModelLen: s.cfg.MaxModelLen, Tokens: tokens}
	if r.Texts {
		out.Texts = make([]string, len(tokens))
		for i, t := range tokens {
			out.Texts[i] = string(s.cfg.Tokenizer.Piece(t))
		}
	}
	return c.JSON(out)
}
