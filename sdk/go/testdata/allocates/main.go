// Allocates is a policy that allocates in its hook, against the rules of the house, for the tests of the SDK.
package main

import sluice "github.com/sluice-dev/sluice/sdk/go"

type policy struct {
	each   int64    // blocks a call
	size   int64    // bytes of one
	latest [][]byte // what the collector finds alive
	n      int
}

func (p *policy) Configure(c *sluice.Config) error {
	p.each = c.Int("each", 4, 0, 1000)
	p.size = c.Int("size", 64, 1, 1<<20)
	p.latest = make([][]byte, 8)
	return nil
}

func (p *policy) Admit(_ *sluice.State, rows []sluice.Row, out []sluice.Verdict) {
	for range p.each {
		p.n = (p.n + 1) % len(p.latest)
		p.latest[p.n] = make([]byte, p.size)
	}
	for i := range rows {
		out[i] = sluice.Admit()
	}
}

func init() { sluice.Register(&policy{}) }

func main() {}
