package llama

import (
	"fmt"

	capi "github.com/hybridgroup/yzma/pkg/llama"
)

// usable is the error of every call while there is nothing to compute with.
func (d *Device) usable() error {
	if d.closed {
		return errClosed
	}
	return d.broken
}

// Reset makes a new KV cache in the place of the one there is: every sequence is empty, there are no logits, and a device that
// had failed computes again. What was saved before can still be restored. It takes as long as opening does without the model.
// After an error the device stays unusable; another Reset may help.
func (d *Device) Reset() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return errClosed
	}
	d.rows, d.kept = d.rows[:0], d.kept[:0]
	d.kv.clear()
	if d.draft != nil {
		d.draft.detach()
	}
	if err := d.ctx.renew(); err != nil {
		d.broken = lost(err)
		return fmt.Errorf("reset device: %w", err)
	}
	d.abort.attach(d.ctx.Handle)
	if d.draft != nil {
		if err := d.draft.attach(d.ctx); err != nil {
			d.broken = lost(err)
			return fmt.Errorf("reset device: %w", err)
		}
	}
	d.broken = nil
	return nil
}

// renew frees the context and makes another one with the same settings.
func (c *Context) renew() error {
	if c.Handle != 0 {
		_ = capi.Free(c.Handle)
		c.Handle, c.Memory = 0, 0
	}
	_, err := c.makeContext()
	return err
}
