package server

import "github.com/sluice-dev/sluice/host/engine"

// form is how the answers of one route are written.
type form struct {
	idPrefix, whole, chunk string // the id's prefix and the values of "object"
	chat                   bool
}

var (
	chatForm = form{idPrefix: "chatcmpl-", whole: "chat.completion", chunk: "chat.completion.chunk", chat: true}
	textForm = form{idPrefix: "cmpl-", whole: "text_completion", chunk: "text_completion"}
)

// appendHead appends what all objects of one answer begin with, up to the value of "choices".
func (k *call) appendHead(b []byte, object string) []byte {
	b = append(b, `{"id":`...)
	b = appendString(b, k.form.idPrefix+k.id)
	b = append(b, `,"object":"`...)
	b = append(b, object...)
	b = append(b, `","created":`...)
	b = appendInt(b, int(k.created))
	b = append(b, `,"model":`...)
	b = appendString(b, k.s.cfg.Info.Model)
	return append(b, `,"choices":[`...)
}

// appendDelta appends the one choice of a chunk; finish is "" before the last.
func (f form) appendDelta(b []byte, text, finish string, first bool) []byte {
	b = append(b, `{"index":0,`...)
	switch {
	case !f.chat:
		b = append(b, `"text":`...)
		b = appendString(b, text)
	case first:
		b = append(b, `"delta":{"role":"assistant","content":`...)
		b = append(appendString(b, text), '}')
	case text == "":
		b = append(b, `"delta":{}`...)
	default:
		b = append(b, `"delta":{"content":`...)
		b = append(appendString(b, text), '}')
	}
	return appendFinish(b, finish)
}

func appendFinish(b []byte, finish string) []byte {
	b = append(b, `,"logprobs":null,"finish_reason":`...)
	if finish == "" {
		return append(b, `null}`...)
	}
	return append(appendString(b, finish), '}')
}

func appendUsage(b []byte, prompt, output int) []byte {
	b = append(b, `,"usage":{"prompt_tokens":`...)
	b = appendInt(b, prompt)
	b = append(b, `,"completion_tokens":`...)
	b = appendInt(b, output)
	b = append(b, `,"total_tokens":`...)
	b = appendInt(b, prompt+output)
	return append(b, '}')
}

// appendWhole appends the answer of a request that did not ask for a stream.
func (k *call) appendWhole(b []byte, text []byte, r engine.Result) []byte {
	b = k.appendHead(b, k.form.whole)
	b = append(b, `{"index":0,`...)
	if k.form.chat {
		b = append(b, `"message":{"role":"assistant","content":`...)
		b = append(appendString(b, string(text)), '}')
	} else {
		b = append(b, `"text":`...)
		b = appendString(b, string(text))
	}
	b = append(appendFinish(b, r.Finish), ']')
	b = appendUsage(b, r.PromptTokens, r.OutputTokens)
	return append(b, '}')
}
