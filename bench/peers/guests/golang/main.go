// Command golang is the rule as a Sluice policy in Go.
package main

import sluice "github.com/sluice-dev/sluice/sdk/go"

type policy struct{}

// Reads implements sluice.FieldReader.
func (policy) Reads() sluice.Group { return sluice.GroupRowTimes }

// Admit implements sluice.Admitter.
func (policy) Admit(st *sluice.State, rows []sluice.Row, out []sluice.Verdict) {
	for i := range rows {
		if rows[i].WaitNS > rows[i].ClientTTLNS && st.WaitingRequests > 0 {
			out[i] = sluice.Reject(503, sluice.ReasonQueueAge)
		} else {
			out[i] = sluice.Admit()
		}
	}
}

func init() { sluice.Register(policy{}) }

func main() {}
