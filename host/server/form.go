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

// appendDelta appends one choice of a chunk; finish is "" before the choice's last.
func (f form) appendDelta(b []byte, c *choice, ev *engine.Event, finish string) []byte {
	b = append(b, `{"index":`...)
	b = appendInt(b, c.index)
	switch {
	case !f.chat:
		b = append(b, `,"text":`...)
		b = appendString(b, ev.Text)
	case !c.begun:
		b = append(b, `,"delta":{"role":"assistant","content":`...)
		b = append(appendString(b, ev.Text), '}')
	case ev.Text == "":
		b = append(b, `,"delta":{}`...)
	default:
		b = append(b, `,"delta":{"content":`...)
		b = append(appendString(b, ev.Text), '}')
	}
	b = f.appendLogprobs(b, ev.Probs, &c.offset)
	return appendFinish(b, finish)
}

func appendFinish(b []byte, finish string) []byte {
	b = append(b, `,"finish_reason":`...)
	if finish == "" {
		return append(b, `null}`...)
	}
	return append(appendString(b, finish), '}')
}

// appendCounts appends the usage so far. Its end is the caller's.
func appendCounts(b []byte, prompt, output int) []byte {
	b = append(b, `,"usage":{"prompt_tokens":`...)
	b = appendInt(b, prompt)
	b = append(b, `,"completion_tokens":`...)
	b = appendInt(b, output)
	b = append(b, `,"total_tokens":`...)
	return appendInt(b, prompt+output)
}

// appendUsage appends the usage of an answer that is complete.
func appendUsage(b []byte, r engine.Result) []byte {
	b = appendCounts(b, r.PromptTokens, r.OutputTokens)
	b = append(b, `,"prompt_tokens_details":{"cached_tokens":`...)
	b = appendInt(b, r.CachedTokens)
	return append(b, "}}"...)
}

// appendWhole appends the answer of a request that did not ask for a stream. All its choices are complete.
func (k *call) appendWhole(b []byte, texts []answer) []byte {
	b = k.appendHead(b, k.form.whole)
	for i := range texts {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, `{"index":`...)
		b = appendInt(b, i)
		if k.form.chat {
			b = append(b, `,"message":{"role":"assistant","content":`...)
			b = append(appendString(b, string(texts[i].bytes)), '}')
		} else {
			b = append(b, `,"text":`...)
			b = appendString(b, string(texts[i].bytes))
		}
		var offset int
		b = k.form.appendLogprobs(b, texts[i].probs, &offset)
		b = appendFinish(b, k.choices[i].out.Result().Finish)
	}
	b = append(b, ']')
	return append(appendUsage(b, k.total()), '}')
}
