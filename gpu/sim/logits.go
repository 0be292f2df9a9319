package sim

import "github.com/sluice-dev/sluice/gpu"

// The text that the device likes to write: after two tokens mostly what a hash of these two says, so that n-gram
// drafts are worth something; at some positions what the whole history says, so that a wrong token anywhere before shows.
const (
	surpriseEvery = 12  // one position in so many follows the whole history
	endEvery      = 400 // one position in so many likes to end best
	likedBy       = 9   // how much more likely the liked token is, in logits
)

// alphabet is what it writes with; letters stand in it as often as they should.
const alphabet = "eeeeettttaaaooiinnsshhrrddlluucmwfgypbvk       \n.,"

func rowAt(h *history) row {
	n := len(h.tokens)
	r := row{hash: h.hash[n-1]}
	for i := range r.last2 {
		r.last2[i] = -1
		if n-1-i >= 0 {
			r.last2[i] = h.tokens[n-1-i]
		}
	}
	return r
}

// fill writes the row's logits: seeded noise, and one token that stands out.
func (r *row) fill(out []float32) {
	local := uint64(0)
	for _, t := range r.last2 {
		local = mix(local ^ uint64(int64(t)+2))
	}
	base := local
	if r.hash%surpriseEvery == 0 {
		base = r.hash
	}
	x := r.hash
	for i := range out {
		x = x*6364136223846793005 + 1442695040888963407
		// 24 bits are exact in a float32, so the value is the same on every machine.
		out[i] = float32(x>>40) / (1 << 24)
	}
	// Nobody writes NUL bytes, bytes that are no ASCII, or the start of a turn unless forced to.
	out[0] -= 8
	for i := 128; i < VocabSize; i++ {
		out[i] -= 8
	}
	if mix(r.hash)%endEvery == 0 {
		out[TokenEnd] = likedBy + 1
		return
	}
	out[gpu.Token(alphabet[mix(base)%uint64(len(alphabet))])] += likedBy
}

// mix is the finaliser of the SplitMix64 generator (Steele, Lea, Flood 2014).
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
