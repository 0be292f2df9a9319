package engine

import (
	"context"
	"fmt"

	"github.com/sluice-dev/sluice/host/sched"
)

// SetSched puts other limits and objectives in force between two actions of the loop, all at once; see sched.Core.SetConfig for what
// may change. It waits for no device step.
func (e *Engine) SetSched(ctx context.Context, cfg sched.Config) error {
	reply := make(chan error, 1)
	if !e.say(message{run: func(int64) { reply <- e.loop.core.SetConfig(cfg) }}) {
		return ErrDraining
	}
	select {
	case err := <-reply:
		return err
	case <-e.gone:
		return ErrDraining
	case <-ctx.Done():
		return fmt.Errorf("change limits: %w", ctx.Err())
	}
}
