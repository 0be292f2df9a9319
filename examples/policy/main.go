// Command policy is the smallest useful policy, to start your own from: it turns requests away while too many wait.
//
// Settings:
//
//	max_waiting  32  requests in the queue from which on arrivals get 429, 1 to 100000
//
//	GOOS=wasip1 GOARCH=wasm go build -buildmode=c-shared -ldflags='-s -w' -o policy.wasm ./examples/policy
//	sluice policy push policy.wasm --set max_waiting=8
package main

import sluice "github.com/sluice-dev/sluice/sdk/go"

type policy struct{ maxWaiting uint32 }

// Configure implements sluice.Configurer.
func (p *policy) Configure(c *sluice.Config) error {
	p.maxWaiting = uint32(c.Int("max_waiting", 32, 1, 100_000))
	return nil
}

// Admit implements sluice.Admitter. Those of one burst count each other.
func (p *policy) Admit(st *sluice.State, rows []sluice.Row, out []sluice.Verdict) {
	waiting := st.WaitingRequests
	for i := range rows {
		switch {
		case !rows[i].In(sluice.PhaseArrival):
		case waiting >= p.maxWaiting:
			out[i] = sluice.Reject(429, sluice.ReasonQueueFull)
		default:
			waiting++
		}
	}
}

var (
	_ sluice.Configurer = (*policy)(nil)
	_ sluice.Admitter   = (*policy)(nil)
)

func init() { sluice.Register(&policy{}) }

func main() {}
