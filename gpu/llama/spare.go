package llama

import "slices"

// Limits of the memory that is kept for the next save.
const (
	mostSpare  = 64 << 20 // bytes
	spareUnit  = 1 << 20  // bytes: memory is made in multiples, so that what sequences of like lengths need fits
	spareWaste = 4        // a save takes memory that is larger than it needs by this part of it and a unit at most
)

// spare is memory of what was saved and is not wanted any more, the oldest first. The system gives a process new memory page by
// page when it is first written: 2.5 ms of the 3.3 that the save of 160 tokens of a 135M model takes in it.
type spare [][]byte

// take gives an empty buffer with room for n bytes.
func (s *spare) take(n int) []byte {
	best := -1
	for i, b := range *s {
		if cap(b) >= n && cap(b) <= n+n/spareWaste+spareUnit && (best < 0 || cap(b) < cap((*s)[best])) {
			best = i
		}
	}
	if best < 0 {
		return make([]byte, 0, (n+spareUnit-1)/spareUnit*spareUnit)
	}
	b := (*s)[best]
	*s = slices.Delete(*s, best, best+1)
	return b[:0]
}

// give keeps b for a save to come, in the place of the oldest ones where they are too much together.
func (s *spare) give(b []byte) {
	*s = append(*s, b)
	total, from := 0, len(*s)
	for from > 0 && total+cap((*s)[from-1]) <= mostSpare {
		from--
		total += cap((*s)[from])
	}
	*s = slices.Delete(*s, 0, from)
}
