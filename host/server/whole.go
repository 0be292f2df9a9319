package server

import "github.com/gofiber/fiber/v2"

// sendWhole waits for all of the answer and sends it as one object.
func (k *call) sendWhole(c *fiber.Ctx) error {
	var text []byte
	for {
		select {
		case ev, ok := <-k.out.Events():
			if ok {
				text = append(text, ev.Text...)
				continue
			}
		case <-k.watch.gone:
			k.clientLeft()
			<-k.out.Done()
			c.Context().SetConnectionClose()
			return clientGone()
		}
		break
	}
	<-k.out.Done()
	r := k.out.Result()
	if !complete(r) {
		return resultError(r)
	}
	c.Set(fiber.HeaderContentType, fiber.MIMEApplicationJSON)
	return c.Send(k.appendWhole(make([]byte, 0, len(text)+512), text, r))
}
