package llama

import (
	"fmt"

	"github.com/sluice-dev/sluice/gpu"
)

// run catches up, reads the first draft of each sequence that is not too far behind, and goes on token by token.
func (d *drafter) run() error {
	if err := d.catchUp(); err != nil {
		return err
	}
	d.clear()
	for i := range d.jobs {
		if j := &d.jobs[i]; j.last-j.next < seedRows {
			if err := d.seed(j); err != nil {
				return err
			}
		} else {
			j.ended = true
		}
	}
	for {
		if err := d.flush(); err != nil {
			return err
		}
		going := false
		for i := range d.jobs {
			if j := &d.jobs[i]; !j.ended {
				if err := d.step(j); err != nil {
					return err
				}
				going = true
			}
		}
		if !going {
			return nil
		}
	}
}

func (d *drafter) clear() {
	d.side.batch.c.NTokens = 0
	d.put = d.put[:0]
}

// catchUp feeds what sequences that are far behind lack, without reading anything.
func (d *drafter) catchUp() error {
	d.clear()
	left := catchUpRows
	for i := range d.jobs {
		j := &d.jobs[i]
		for ; j.last-j.next >= seedRows && left > 0; left-- {
			if d.side.full(1) {
				if err := d.fed(); err != nil {
					return err
				}
			}
			d.feed(j, false)
		}
	}
	return d.fed()
}

// fed computes what catchUp put.
func (d *drafter) fed() error {
	if d.side.batch.c.NTokens > 0 {
		if err := d.side.decode(); err != nil {
			return err
		}
	}
	d.clear()
	for i := range d.jobs {
		d.jobs[i].seq.fed = d.jobs[i].next
	}
	return nil
}

// feed puts the next known token of a sequence.
func (d *drafter) feed(j *draftJob, keep bool) {
	var row []float32
	if d.head != nil {
		row = d.head.row(j.seq, j.next+d.shift-1)
	}
	d.side.put(j.row.History[j.next+d.shift], j.next, j.row.Seq, row, keep)
	j.next++
}

// seed puts all that is left of the known tokens. A head's rows are all flagged as outputs: with only some of them
// flagged llama.cpp gives the logits and hidden states of other rows.
func (d *drafter) seed(j *draftJob) error {
	if d.side.full(j.last - j.next + 1) {
		if err := d.flush(); err != nil {
			return err
		}
	}
	for j.next <= j.last {
		d.feed(j, d.head != nil || j.next == j.last)
	}
	j.out = int(d.side.batch.c.NTokens) - 1
	d.put = append(d.put, j)
	return nil
}

// step puts the newest draft.
func (d *drafter) step(j *draftJob) error {
	if d.side.full(1) {
		if err := d.flush(); err != nil {
			return err
		}
	}
	token := j.row.Draft[len(j.row.Draft)-1]
	d.side.put(token, j.next, j.row.Seq, j.hidden, true)
	j.seq.loose = append(j.seq.loose, token)
	j.next++
	j.out = int(d.side.batch.c.NTokens) - 1
	d.put = append(d.put, j)
	return nil
}

// flush computes what seed and step put, and reads a draft for each sequence of it.
func (d *drafter) flush() error {
	if len(d.put) == 0 {
		return nil
	}
	if err := d.side.decode(); err != nil {
		return err
	}
	for _, j := range d.put {
		j.seq.fed = j.last + 1
		if err := d.choose(j); err != nil {
			return err
		}
	}
	d.clear()
	return nil
}

// choose takes the next draft of a sequence out of the logits of its row.
func (d *drafter) choose(j *draftJob) error {
	logits, err := d.side.logits(j.out)
	if err != nil {
		return err
	}
	var token gpu.Token
	if j.row.Pick != nil {
		token = j.row.Pick(len(j.row.Draft), logits)
	} else {
		token = mostProbable(logits)
	}
	if int(token) >= len(logits) {
		return fmt.Errorf("%w: token %d was picked out of a vocabulary of %d", gpu.ErrBatch, token, len(logits))
	}
	if token < 0 {
		j.ended = true
		return nil
	}
	j.row.Draft = append(j.row.Draft, token)
	if j.ended = len(j.row.Draft) >= j.max; j.ended || d.head == nil {
		return nil
	}
	j.hidden, err = d.head.next(d.side, j.out, j.hidden)
	return err
}

func mostProbable(logits []float32) gpu.Token {
	best := 0
	for i, x := range logits {
		if x > logits[best] {
			best = i
		}
	}
	return gpu.Token(best)
}
