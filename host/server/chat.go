package server

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/gofiber/fiber/v2"
	"github.com/sluice-dev/sluice/gpu"
)

const routeChat = "/v1/chat/completions"

type chatRequest struct {
	common
	refused
	Messages []chatMessage `json:"messages"`
}

type chatMessage struct {
	Role         string          `json:"role"`
	Content      json.RawMessage `json:"content"`
	ToolCalls    json.RawMessage `json:"tool_calls"`
	FunctionCall json.RawMessage `json:"function_call"`
}

func (s *Server) completeChat(c *fiber.Ctx) error {
	return s.generate(c, routeChat, chatForm, parseChat)
}

func parseChat(k *call, c *fiber.Ctx, body []byte) error {
	var r chatRequest
	if err := decodeBody(body, &r); err != nil {
		return err
	}
	if err := k.fillCommon(c, &r.common, &r.refused); err != nil {
		return err
	}
	prompt, err := k.s.chatPrompt(r.Messages, true)
	if err != nil {
		return err
	}
	return k.setPrompt("messages", prompt, &r.common, k.s.cfg.MaxModelLen)
}

// chatPrompt renders and tokenizes a conversation.
func (s *Server) chatPrompt(raw []chatMessage, generate bool) ([]gpu.Token, error) {
	if s.chat.err != nil {
		return nil, badRequest("messages", "no_chat_template", "%v; use /v1/completions", s.chat.err)
	}
	messages, err := s.messages(raw)
	if err != nil {
		return nil, err
	}
	parts, err := s.chat.render(messages, generate)
	var complaint *raised
	if errors.As(err, &complaint) {
		return nil, badRequest("messages", codeValue, "the model's chat template refuses these messages: %s", complaint.message)
	}
	if err != nil {
		return nil, &apiError{status: http.StatusInternalServerError, code: "chat_template_failed", message: err.Error()}
	}
	return s.encode(parts)
}

func (s *Server) messages(raw []chatMessage) ([]message, error) {
	if len(raw) == 0 {
		return nil, badRequest("messages", codeMissing, "messages must hold at least one message")
	}
	if len(raw) >= s.cfg.MaxModelLen { // each takes at least a token
		return nil, badRequest("messages", codeContext, "%d messages do not fit the model's context of %d tokens", len(raw), s.cfg.MaxModelLen)
	}
	out := make([]message, len(raw))
	for i := range raw {
		var err error
		if out[i], err = raw[i].parse(fmt.Sprintf("messages[%d]", i)); err != nil {
			return nil, err
		}
	}
	return out, nil
}

var roles = []string{"system", "user", "assistant"}

func (m *chatMessage) parse(at string) (message, error) {
	role := m.Role
	if role == "developer" { // the newer name
		role = "system"
	}
	switch {
	case role == "tool" || role == "function" || asks(m.ToolCalls) || asks(m.FunctionCall):
		return message{}, badRequest(at, codeRefused, "%s: tools are not supported by this server", at)
	case !slices.Contains(roles, role):
		return message{}, badRequest(at+".role", codeValue, "%s.role must be one of %s, developer, but is %.40q", at, strings.Join(roles, ", "), m.Role)
	}
	text, err := contentText(at+".content", m.Content, role == "assistant")
	if err != nil {
		return message{}, err
	}
	return message{role, text}, checkText(at+".content", text)
}

// asks tells whether an array or object holds anything.
func asks(raw json.RawMessage) bool {
	return present(raw) && string(raw) != "[]" && string(raw) != "{}"
}

type contentPart struct {
	Type string  `json:"type"`
	Text *string `json:"text"`
}

// contentText is a content that is a string or an array of text parts, which are joined by line breaks.
func contentText(at string, raw json.RawMessage, optional bool) (string, error) {
	if !present(raw) {
		if optional {
			return "", nil
		}
		return "", badRequest(at, codeMissing, "%s must be a string or an array of parts", at)
	}
	var text string
	if raw[0] == '"' {
		return text, decodeField(at, raw, &text, "a string")
	}
	var parts []contentPart
	if err := decodeField(at, raw, &parts, "a string or an array of parts"); err != nil {
		return "", err
	}
	texts := make([]string, len(parts))
	for i, p := range parts {
		if p.Type != "text" {
			return "", badRequest(fmt.Sprintf("%s[%d].type", at, i), codeRefused, "%s[%d] is of type %.40q; this server takes only text", at, i, p.Type)
		}
		if p.Text == nil {
			return "", badRequest(fmt.Sprintf("%s[%d].text", at, i), codeMissing, "%s[%d] has no text", at, i)
		}
		texts[i] = *p.Text
	}
	return strings.Join(texts, "\n"), nil
}
