package measure

const (
	leastFar  = 64  // tokens before those that are compared, at least
	mostFar   = 512 // and at most
	farRows   = 32  // tokens of a step that are compared
	farRounds = 3   // such steps, after one that does not count
)

// far measures by how much prompt tokens cost more with others before them, and the same with as many rows as have another price. On a
// device so slow that it would take too much of the limit, it is 0.
func (r *run) far() error {
	rows := []int{farRows}
	if r.info.WideRows > 0 {
		rows = []int{min(farRows, r.info.WideRows-1), r.info.WideRows}
	}
	most := rows[len(rows)-1]
	at := min(mostFar, r.info.MaxBatchTokens, r.info.ContextTokens-most, r.info.KVTokens-most, int(int64(r.opt.Limit)/8/max(1, r.rep.Costs.PrefillToken)))
	if rows[0] < 1 || at < leastFar || most > r.info.MaxBatchTokens || r.opt.Plain || r.late() {
		return nil
	}
	first, err := r.stepsAt(0, rows)
	if err != nil {
		return err
	}
	later, err := r.stepsAt(at, rows)
	if err != nil {
		return err
	}
	var more []int64
	for i, n := range rows {
		more = append(more, max(0, later[i]-first[i])*1024/int64(n*at))
	}
	r.rep.Costs.PrefillFar = more[0]
	if r.info.WideRows > 0 {
		r.rep.Costs.WideRows, r.rep.Costs.PrefillFarWide = most, more[1]
	}
	return r.clear()
}

// stepsAt gives the times of steps of so many prompt tokens from a position on.
func (r *run) stepsAt(pos int, rows []int) ([]int64, error) {
	if pos > 0 {
		if _, err := r.forward(1, pos, 0); err != nil {
			return nil, err
		}
	}
	var out []int64
	for _, n := range rows {
		var times []int64
		for i := 0; i <= 1 || i <= farRounds && !r.late(); i++ {
			ns, err := r.forward(1, n, 1)
			if err != nil {
				return nil, err
			}
			if i > 0 { // buffers may have grown in the first one
				times = append(times, ns)
			}
			if err := r.trim(1, pos); err != nil {
				return nil, err
			}
		}
		out = append(out, r.middle(times))
	}
	return out, nil
}
