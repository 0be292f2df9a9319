// Command panics is a policy that dies as policies in Go do: when so many requests wait, in different ways.
package main

import sluice "github.com/sluice-dev/sluice/sdk/go"

type policy struct{ table [4]uint32 }

// Admit implements sluice.Admitter.
func (p *policy) Admit(st *sluice.State, rows []sluice.Row, out []sluice.Verdict) {
	switch st.WaitingRequests {
	case 77:
		panic("seventy-seven is one too many")
	case 78:
		p.table[st.WaitingRequests%100]++
	case 79:
		var m map[uint32]uint32
		m[st.WaitingRequests]++
	case 80:
		for i := uint32(0); ; i++ {
			p.table[i%4] += i
		}
	}
}

func init() { sluice.Register(&policy{}) }

func main() {}
