package main

import sluice "github.com/sluice-dev/sluice/sdk/go"

// places is, for each class, how many more may come to stand before its next request. Arrivals of one burst take them from
// each other: what stands before a request is its own class and the more important ones.
type places [sluice.Classes]int64

// count turns the longest wait of each class in ns into places, at what a place in the queue takes now.
func (p *places) count(st *sluice.State) {
	each := max(st.EstimatedWaitNS/int64(st.WaitingRequests), 1)
	ahead := int64(0)
	for c := range p {
		ahead += int64(st.Classes[c].Waiting)
		p[c] = p[c]/each - ahead
	}
}

// take lets a request in and reports true, unless it would wait too long.
func (p *places) take(class int) bool {
	if p[class] < 0 {
		return false
	}
	for c := class; c < len(p); c++ {
		p[c]--
	}
	return true
}

// share is ns times a ratio in ppm. It does not overflow for a day and a ratio of a thousand.
func share(ns, ppm int64) int64 { return ns/sluice.One*ppm + ns%sluice.One*ppm/sluice.One }
