package llama

import (
	"github.com/sluice-dev/sluice/gpu"
)

// draftState is what a drafter keeps of a saved sequence, in gpu.Saved.State.
type draftState struct {
	fed  int
	kv   []byte // nil when fed is 0
	rows []float32
	lost bool
}

// trim forgets what depends on the positions of seq from pos on.
func (d *drafter) trim(seq, pos int) {
	s := &d.seqs[seq]
	if fed := max(0, pos-d.shift); fed < s.fed {
		s.fed, s.loose = fed, nil
		d.side.cut(seq, fed)
	}
	if pos == 0 {
		*s = draftSeq{}
		d.side.cut(seq, 0)
	}
	if d.head != nil {
		if n := pos * d.head.width; n < len(s.rows) {
			s.rows = s.rows[:n:n] // what is appended goes elsewhere: a copy may share the rest
		}
	}
}

// copy makes to, which is empty, know the first n positions of from. The last of them is fed anew when it took a token
// that may be another one in to.
func (d *drafter) copy(from, to, n int) {
	d.trim(to, 0)
	a, b := &d.seqs[from], &d.seqs[to]
	b.fed, b.lost = min(a.fed, max(0, n-d.shift)), a.lost
	if d.side.copy(from, to, b.fed) != nil {
		b.fed = 0 // it is fed anew
		d.side.cut(to, 0)
	}
	if d.head != nil {
		if end := n * d.head.width; end <= len(a.rows) {
			b.rows = a.rows[:end:end]
		} else {
			b.lost = true
		}
	}
}

func (d *drafter) save(seq int) *draftState {
	s := &d.seqs[seq]
	s.loose = nil
	d.side.cut(seq, s.fed)
	out := &draftState{fed: s.fed, rows: s.rows[:len(s.rows):len(s.rows)], lost: s.lost}
	if s.fed == 0 {
		return out
	}
	var err error
	if out.kv, err = d.side.save(seq); err != nil {
		out.fed = 0 // it is fed anew
	}
	return out
}

// restore makes seq, which is empty, know what was saved. One that was saved without a drafter starts with nothing: a draft
// model catches up, a head has no drafts for it.
func (d *drafter) restore(seq int, state any) {
	d.trim(seq, 0)
	s := &d.seqs[seq]
	st, ok := state.(*draftState)
	if !ok {
		s.lost = d.head != nil
		return
	}
	*s = draftSeq{rows: st.rows[:len(st.rows):len(st.rows)], lost: st.lost}
	if st.fed > 0 && d.side.restore(seq, st.kv) == nil {
		s.fed = st.fed // otherwise it is fed anew
	}
}

// trimDraft is Trim for the drafter, if there is one. It may hold one position more than the device: that of the newest
// known token.
func (d *Device) trimDraft(seq, pos int) {
	if d.draft != nil {
		d.draft.trim(seq, pos)
	}
}

func (d *Device) copyDraft(from, to, n int) {
	if d.draft != nil {
		d.draft.copy(from, to, n)
	}
}

func (d *Device) saveDraft(seq int) any {
	if d.draft == nil {
		return nil
	}
	return d.draft.save(seq)
}

func (d *Device) restoreDraft(seq int, state any) {
	if d.draft != nil {
		d.draft.restore(seq, state)
	}
}

// Drafter is what guesses beside this device; nil when Options name none. It is closed with the device.
func (d *Device) Drafter() gpu.Drafter {
	if d.draft == nil {
		return nil
	}
	return d.draft
}
