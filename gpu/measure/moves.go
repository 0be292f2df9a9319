package measure

import (
	"errors"

	"github.com/sluice-dev/sluice/gpu"
)

// moveTokens is the length of the sequence that is copied and saved.
const moveTokens = 128

// moves measures Copy, and Save and Restore together, where the device has them.
func (r *run) moves() error {
	n := min(moveTokens, r.info.MaxBatchTokens, r.info.ContextTokens-1, r.info.KVTokens/2)
	if r.info.MaxSeqs+r.info.SpareSeqs < 2 || n < 1 || r.info.CopyMin == 0 && !r.info.CanSave {
		return nil
	}
	if _, err := r.forward(1, n, 0); err != nil {
		return err
	}
	var copies, saves []int64
	for range 3 {
		if r.info.CopyMin > 0 {
			ns, err := r.timed(func() error { return r.dev.Copy(0, 1, n) })
			if err != nil {
				return err
			}
			copies = append(copies, ns)
		}
		if r.info.CanSave {
			ns, err := r.timed(func() error {
				s, err := r.dev.Save(0)
				if err != nil {
					return err
				}
				if dev, ok := r.dev.(gpu.Recycler); ok {
					defer dev.Recycle(s)
				}
				return r.dev.Restore(1, s)
			})
			if err != nil {
				return err
			}
			saves = append(saves, max(1, ns/int64(n)))
		}
	}
	r.rep.Costs.Copy, r.rep.Costs.SaveToken = median(copies), median(saves)
	return r.clear()
}

// timed gives the time of f, which fills sequence 1, and empties it again.
func (r *run) timed(f func() error) (int64, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	start := r.opt.now()
	err := f()
	ns := int64(r.opt.now().Sub(start))
	return max(ns, 1), errors.Join(err, r.dev.Trim(1, 0))
}

// draftTokens is how many drafts are asked for at once.
const draftTokens = 4

// drafting measures what the drafter beside the device takes for one token of one sequence.
func (r *run) drafting() error {
	if r.opt.Drafter == nil || contextTokens+1+draftTokens > r.info.ContextTokens {
		return nil
	}
	if _, err := r.forward(1, contextTokens, 1); err != nil {
		return err
	}
	var times []int64
	for range 3 {
		row := gpu.DraftRow{History: r.text(0, 0, r.held[0]+1), Max: draftTokens}
		rows := []gpu.DraftRow{row}
		start := r.opt.now()
		if err := r.opt.Drafter.Draft(rows); err != nil {
			return err
		}
		if n := len(rows[0].Draft); n > 0 {
			times = append(times, max(1, int64(r.opt.now().Sub(start))/int64(n)))
		}
		if _, err := r.forward(1, 1, 1); err != nil {
			return err
		}
	}
	r.rep.Costs.DraftToken = median(times)
	return r.clear()
}
