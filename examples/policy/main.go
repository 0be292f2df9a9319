// Short-queue is a policy to start from: it turns requests away on arrival once too many wait.
//
//	max_waiting  20  requests that may wait, 1 to 100000
package main

import sluice "github.com/sluice-dev/sluice/sdk/go"

type policy struct {
	maxWaiting uint32
}

func (p *policy) Configure(c *sluice.Config) error {
	p.maxWaiting = uint32(c.Int("max_waiting", 20, 1, 100_000))
	return nil
}

func (p *policy) Admit(st *sluice.State, rows []sluice.Row, out []sluice.Verdict) {
	for i := range rows {
		if rows[i].In(sluice.PhaseArrival) && st.WaitingRequests >= p.maxWaiting {
			out[i] = sluice.Reject(503, sluice.ReasonQueueFull)
		}
	}
}

func init() { sluice.Register(&policy{}) }

func main() {}
