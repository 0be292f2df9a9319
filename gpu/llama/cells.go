package llama

// cells is our record of which cells of the KV cache are in use: what llama.cpp would find, without asking it. A sequence is
// a list of cells, one a position; where the cache is shared, a copied prefix is the same cells in two lists.
type cells struct {
	free []int32 // cells that nothing uses, as a stack
	refs []uint16
	seqs [][]int32
}

func newCells(size, seqs int) *cells {
	c := &cells{free: make([]int32, size), refs: make([]uint16, size), seqs: make([][]int32, seqs)}
	c.clear()
	return c
}

// clear forgets every sequence.
func (c *cells) clear() {
	c.free = c.free[:cap(c.free)]
	for i := range c.free {
		c.free[i] = int32(len(c.free) - 1 - i)
	}
	clear(c.refs)
	for i := range c.seqs {
		c.seqs[i] = c.seqs[i][:0]
	}
}

// used is the number of cells that hold something: each once, however many sequences have it.
func (c *cells) used() int { return len(c.refs) - len(c.free) }

func (c *cells) length(seq int) int { return len(c.seqs[seq]) }

// fits tells whether n more cells are free.
func (c *cells) fits(n int) bool { return n <= len(c.free) }

// grow adds n cells to seq; the caller has asked whether they fit.
func (c *cells) grow(seq, n int) {
	rest := len(c.free) - n
	for _, cell := range c.free[rest:] {
		c.refs[cell] = 1
	}
	c.seqs[seq] = append(c.seqs[seq], c.free[rest:]...)
	c.free = c.free[:rest]
}

// cut leaves seq its first n cells.
func (c *cells) cut(seq, n int) {
	for _, cell := range c.seqs[seq][n:] {
		if c.refs[cell]--; c.refs[cell] == 0 {
			c.free = append(c.free, cell)
		}
	}
	c.seqs[seq] = c.seqs[seq][:n]
}

// share gives to, which is empty, the first n cells of from.
func (c *cells) share(from, to, n int) {
	for _, cell := range c.seqs[from][:n] {
		c.refs[cell]++
	}
	c.seqs[to] = append(c.seqs[to], c.seqs[from][:n]...)
}
