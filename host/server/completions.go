package server

import (
	"encoding/json"
	"strings"

	"github.com/gofiber/fiber/v2"
	"github.com/sluice-dev/sluice/gpu"
)

const routeCompletions = "/v1/completions"

// defaultCompletion is the length of a completion that does not say; that of a chat is what the context leaves.
const defaultCompletion = 16

type completionRequest struct {
	common
	refused
	Prompt json.RawMessage `json:"prompt"`
}

func (s *Server) completeText(c *fiber.Ctx) error {
	return s.generate(c, routeCompletions, textForm, parseCompletion)
}

func parseCompletion(k *call, c *fiber.Ctx, body []byte) error {
	var r completionRequest
	if err := decodeBody(body, &r); err != nil {
		return err
	}
	if err := k.fillCommon(c, &r.common, &r.refused); err != nil {
		return err
	}
	prompt, err := k.s.rawPrompt(r.Prompt, true)
	if err != nil {
		return err
	}
	return k.setPrompt("prompt", prompt, &r.common, defaultCompletion)
}

// errManyPrompts is for a batch of prompts in one request.
func errManyPrompts(n int) error {
	return badRequest("prompt", codeRefused, "prompt holds %d prompts; this server takes one a request", n)
}

// rawPrompt is a string, tokens, or an array of one of these. The text is all the client's own, special tokens included;
// bos adds the model's own beginning to a text.
func (s *Server) rawPrompt(raw json.RawMessage, bos bool) ([]gpu.Token, error) {
	if !present(raw) {
		return nil, badRequest("prompt", codeMissing, "prompt is missing")
	}
	if raw[0] == '"' {
		var text string
		if err := decodeField("prompt", raw, &text, "a string"); err != nil {
			return nil, err
		}
		return s.textPrompt(text, bos)
	}
	var items []json.RawMessage
	if err := decodeField("prompt", raw, &items, "a string, an array of one string, or an array of tokens"); err != nil {
		return nil, err
	}
	if len(items) > 0 && (items[0][0] == '"' || items[0][0] == '[') {
		if len(items) > 1 {
			return nil, errManyPrompts(len(items))
		}
		if items[0][0] == '"' {
			return s.rawPrompt(items[0], bos)
		}
		raw = items[0]
	}
	return s.tokenPrompt(raw)
}

func (s *Server) textPrompt(text string, bos bool) ([]gpu.Token, error) {
	if err := checkText("prompt", text); err != nil {
		return nil, err
	}
	if text == "" {
		return nil, badRequest("prompt", codeValue, "the prompt is empty")
	}
	tokens, err := s.spell("prompt", text, true)
	if err != nil {
		return nil, err
	}
	if bos {
		tokens = s.withBOS(tokens)
	}
	return tokens, nil
}

func (s *Server) tokenPrompt(raw json.RawMessage) ([]gpu.Token, error) {
	var ids []int64
	if err := decodeField("prompt", raw, &ids, "an array of token ids"); err != nil {
		return nil, err
	}
	if len(ids) > s.cfg.MaxModelLen {
		return nil, badRequest("prompt", codeContext, "the prompt has %d tokens, but the model's context is %d", len(ids), s.cfg.MaxModelLen)
	}
	tokens := make([]gpu.Token, len(ids))
	for i, id := range ids {
		if id < 0 || id >= int64(s.cfg.Info.VocabSize) {
			return nil, badRequest("prompt", codeValue, "prompt[%d] is %d; token ids are 0 to %d", i, id, s.cfg.Info.VocabSize-1)
		}
		tokens[i] = gpu.Token(id)
	}
	return tokens, nil
}

// withBOS puts the model's beginning before tokens that do not have it.
func (s *Server) withBOS(tokens []gpu.Token) []gpu.Token {
	bos, ok := s.cfg.Tokenizer.AddsBOS()
	if !ok || len(tokens) > 0 && tokens[0] == bos {
		return tokens
	}
	return append([]gpu.Token{bos}, tokens...)
}

// checkModel accepts the model's id, and none at all.
func (s *Server) checkModel(id string) error {
	if id == "" || id == s.cfg.Info.Model {
		return nil
	}
	return modelNotFound(strings.ToValidUTF8(id, "?"))
}
