package spec

import "math"

// expTable holds 2^(i/64).
var expTable = func() (t [64]float64) {
	for i := range t {
		t[i] = math.Exp2(float64(i) / 64)
	}
	return t
}()

// exp is e^x for x <= 0, within 1e-15 of it relative; 0 below -700 and for NaN. It stands in for math.Exp because a
// sampled token takes one for each word of the vocabulary: this one is inlined into the loop.
func exp(x float64) float64 {
	if !(x >= -700) {
		return 0
	}
	const hi, lo = 0x1.62e42fep-07, 0x1.f473de6af278fp-36 // ln(2)/64 in two parts
	n := int64(x*(64/math.Ln2) - 0.5)
	r := x - float64(n)*hi - float64(n)*lo
	p := 1 + r*(1+r*(1./2+r*(1./6+r*(1./24+r*(1./120)))))
	return p * expTable[n&63] * math.Float64frombits(uint64(1023+n>>6)<<52)
}
