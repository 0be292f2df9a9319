package engine

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/sluice-dev/sluice/host/sched"
)

// SetSched puts other limits and objectives in force between two actions of the loop, all at once; see sched.Core.SetConfig for what
// may change. It waits for no device step. After an error nothing has changed and nothing will.
func (e *Engine) SetSched(ctx context.Context, cfg sched.Config) error {
	var claimed atomic.Bool // by the loop, or by whoever waits no more
	reply := make(chan error, 1)
	change := func(int64) {
		if claimed.CompareAndSwap(false, true) {
			reply <- e.loop.core.SetConfig(cfg)
		}
	}
	if !e.say(message{run: change}) {
		return ErrDraining
	}
	select {
	case err := <-reply:
		return err
	case <-e.gone:
		return ErrDraining
	case <-ctx.Done():
		if claimed.CompareAndSwap(false, true) {
			return fmt.Errorf("change limits: %w", ctx.Err())
		}
		return <-reply
	}
}
