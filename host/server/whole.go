package server

import (
	"github.com/gofiber/fiber/v2"
	"github.com/sluice-dev/sluice/host/engine"
)

// answer is what one choice of a whole answer says.
type answer struct {
	bytes []byte
	probs []engine.TokenProbs
}

// sendWhole waits for all of the answer and sends it as one object.
func (k *call) sendWhole(c *fiber.Ctx) error {
	texts := make([]answer, len(k.choices))
	for open := len(k.choices); open > 0; {
		ch, ev, ok, why := k.next(nil)
		switch {
		case why == wakeGone:
			k.clientLeft()
			c.Context().SetConnectionClose()
			return clientGone()
		case ok:
			t := &texts[ch.index]
			t.bytes, t.probs = append(t.bytes, ev.Text...), append(t.probs, ev.Probs...)
			continue
		}
		<-ch.out.Done()
		if r := ch.out.Result(); !complete(r) {
			return resultError(r)
		}
		open--
	}
	size := 512
	for i := range texts {
		size += len(texts[i].bytes) + 64
	}
	c.Set(fiber.HeaderContentType, fiber.MIMEApplicationJSON)
	return c.Send(k.appendWhole(make([]byte, 0, size), texts))
}
