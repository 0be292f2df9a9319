package spec

import "math/bits"

// Philox 2x64 with 10 rounds: Salmon et al., "Parallel random numbers: as easy as 1, 2, 3" (SC 2011). Counter-based: a
// draw needs no state, so a token's draw depends on nothing but its key and index.
const (
	philoxMul = 0xD2B74407B1CE6E93
	philoxKey = 0x9E3779B97F4A7C15
)

func philox(c0, c1, key uint64) (uint64, uint64) {
	for range 10 {
		hi, lo := bits.Mul64(philoxMul, c0)
		c0, c1 = hi^key^c1, lo
		key += philoxKey
	}
	return c0, c1
}

// What a draw is for. The streams of one request have nothing in common: a draft, whether it is accepted, and what takes its place are
// three independent draws.
const (
	streamToken uint64 = iota
	streamAccept
	streamResidual
	streamDraft // with the round above it
	streams
)

// uniform is the draw in [0, 1) of one stream for one output index.
func uniform(seed uint64, stream uint64, index int) float64 {
	x, _ := philox(uint64(index), stream, seed)
	return float64(x>>11) * 0x1p-53
}

// draftStream is the stream of a round of drafts that begins at an output index. A position that is drafted again in a later round
// gets a fresh draw: what became of the earlier round may have decided how far the later one drafts.
func draftStream(begin int) uint64 { return streamDraft + streams*uint64(begin) }
