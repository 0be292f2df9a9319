package sim

// Table is a step time measured at some numbers of rows (tokens of all sequences in a step), linear in between.
type Table struct {
	Rows  []int   // rising, from 1
	NS    []int64 // the time of a step with as many rows
	RowNS int64   // each row beyond the last of Rows
}

// StepNS ignores the contexts: where a Table was measured, the attention is a small part.
func (t *Table) StepNS(parts []Part) int64 {
	m := int(loadOf(parts).tokens)
	if m == 0 {
		return 0
	}
	last := len(t.Rows) - 1
	ns := t.NS[0]
	switch {
	case m >= t.Rows[last]:
		ns = t.NS[last] + int64(m-t.Rows[last])*t.RowNS
	case m > t.Rows[0]:
		i := 1
		for t.Rows[i] < m {
			i++
		}
		width, at := int64(t.Rows[i]-t.Rows[i-1]), int64(m-t.Rows[i-1])
		ns = t.NS[i-1] + (t.NS[i]-t.NS[i-1])*at/width
	}
	return ns
}

// smollm2 is SmolLM2-135M in IQ4_NL on two cores with AVX-512 VNNI: means over batches of 1, 2, 4, 8 and 16 sequences
// with 1 to 16 rows each. It is not monotone, since the kernels work in blocks of rows.
var smollm2 = Table{
	Rows: []int{1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128},
	NS: []int64{
		5_900_000, 8_900_000, 14_000_000, 15_000_000, 21_000_000, 17_000_000, 22_500_000, 29_000_000,
		37_000_000, 41_000_000, 57_000_000, 86_000_000, 123_000_000, 145_000_000,
	},
	RowNS: 720_000,
}

var _ Cost = (*Table)(nil)
