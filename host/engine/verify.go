package engine

import (
	"fmt"

	"github.com/sluice-dev/sluice/host/sched"
	"github.com/sluice-dev/sluice/host/spec"
)

// verify draws the tokens of one row and forgets the drafts that were not accepted, here and on the device.
func (l *loop) verify(a *active, row *sched.Row, item int) (emitted int, done sched.Outcome, text string, err error) {
	dev := l.e.cfg.Device
	from := len(a.history)
	logits := func(i int) ([]float32, error) { return dev.Logits(item, i) }
	draft := l.drafts[item]
	if _, err := spec.Verify(a.sampler, logits, draft, from-len(a.req.Prompt), &a.history); err != nil {
		return 0, 0, "", err
	}
	emitted, done, text = a.take(l.e.cfg.Tokenizer, from)
	if keep := emitted - 1; keep < len(draft) {
		if err := dev.Trim(row.Seq, row.Start+row.Tokens+keep); err != nil {
			return 0, 0, "", fmt.Errorf("drop rejected drafts: %w", err)
		}
	}
	return emitted, done, text, nil
}
