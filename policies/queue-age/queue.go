package main

import sluice "github.com/sluice-dev/sluice/sdk/go"

// queue estimates what an arrival would wait. Arrivals of one burst count each other.
type queue struct {
	each  int64 // ns for each request ahead
	known bool
	ahead [sluice.Classes]int64 // waiting in this class and the more important ones
}

func newQueue(st *sluice.State) (q queue) {
	sum := int64(0)
	for c := range q.ahead {
		sum += int64(st.Classes[c].Waiting)
		q.ahead[c] = sum
	}
	if st.Has(sluice.StateHasEstimatedWaitNS) && st.WaitingRequests > 0 {
		q.each, q.known = st.EstimatedWaitNS/int64(st.WaitingRequests), true
	}
	return q
}

// wait is the estimate in ns; 0 when nothing is known.
func (q *queue) wait(class int) int64 {
	if !q.known {
		return 0
	}
	return times(q.each, q.ahead[class])
}

func (q *queue) enter(class int) {
	for c := class; c < len(q.ahead); c++ {
		q.ahead[c]++
	}
}

const forever = 1<<63 - 1

// times multiplies, and stops at forever.
func times(a, b int64) int64 {
	if a <= 0 || b <= 0 {
		return 0
	}
	if a > forever/b {
		return forever
	}
	return a * b
}

// share is ns times a ratio in ppm.
func share(ns, ppm int64) int64 {
	if ppm == 0 {
		return 0
	}
	if ns > forever/ppm {
		return times(ns/sluice.One, ppm)
	}
	return ns * ppm / sluice.One
}
