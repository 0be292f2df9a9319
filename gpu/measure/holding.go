package measure

import "github.com/sluice-dev/sluice/gpu"

// Of the measurement of what held tokens cost: rows beside them, and how many there are, in copies of one sequence.
const (
	holdingRows   = 8
	holdingTokens = 2048
)

// holding measures by how much a step takes longer for what sequences outside it hold. That is little for a row and a token, so
// there are many of both; where it is lost in the noise, it is 0.
func (r *run) holding() error {
	rows, size := min(holdingRows, r.info.MaxSeqs), min(moveTokens, r.info.MaxBatchTokens, r.info.ContextTokens-1)
	copies := min(r.info.SpareSeqs, min(holdingTokens, r.info.KVTokens/2)/size, (r.info.KVTokens-rows*(contextTokens+2*samples+2))/size)
	base := min(contextTokens, r.info.MaxBatchTokens/rows)
	if !r.info.SharedKV || !r.info.CanSave || copies < 1 || base+2*samples+2 > r.info.ContextTokens || r.opt.Plain || r.late() {
		return nil
	}
	saved, err := r.saved(size)
	if err != nil {
		return err
	}
	if err := r.fill(rows, base); err != nil {
		return err
	}
	without, err := r.stepsOf(rows)
	if err != nil {
		return err
	}
	for i := range copies {
		if err := r.dev.Restore(r.info.MaxSeqs+i, saved); err != nil {
			return err
		}
		r.held[r.info.MaxSeqs+i] = size
	}
	with, err := r.stepsOf(rows)
	if err != nil {
		return err
	}
	r.rep.Costs.HeldToken = max(0, with-without) / int64(rows*copies*size)
	return r.clear()
}

// saved is a sequence of size tokens outside the device.
func (r *run) saved(size int) (*gpu.Saved, error) {
	if _, err := r.forward(1, size, 0); err != nil {
		return nil, err
	}
	s, err := r.dev.Save(0)
	if err != nil {
		return nil, err
	}
	return s, r.clear()
}

// stepsOf gives the time of a step of so many rows.
func (r *run) stepsOf(rows int) (int64, error) {
	var times []int64
	for len(times) == 0 || len(times) <= samples && !r.late() {
		ns, err := r.forward(rows, 1, 1)
		if err != nil {
			return 0, err
		}
		times = append(times, ns)
	}
	if len(times) > 1 {
		times = times[1:] // buffers may have grown in the first one
	}
	return r.middle(times), nil
}
