// Spec-off drafts while the batch is small, where verifying drafts is almost free, and not at all when it is large.
//
// It decides the draft tokens of a step:
//
//   - k while at most max_batch requests run, 0 from the very step in which more do. Speculation comes back when at most
//     max_batch - band have run for hold_steps, so that a batch that hovers around the threshold does not switch to and fro.
//   - 0 as well while drafts are rejected: when a moving average of the share of accepted drafts falls below min_accept. Every
//     probe_every steps one step drafts all the same, marked as a probe, so that speculation comes back when the text changes.
//     A quarter above min_accept is enough.
//
// Requests whose client opted out draft nothing.
//
// Settings:
//
//	max_batch    4     1 to 256
//	k            7     draft tokens, 0 to 15
//	band         1     0 to 255
//	hold_steps   16    0 to 100000
//	min_accept   0.1   0 to 1; 0 turns the second rule off
//	probe_every  64    steps, 1 to 100000
//
//	sluice policy push spec-off.wasm --set max_batch=8 --set k=4
package main

import sluice "github.com/sluice-dev/sluice/sdk/go"

type policy struct {
	k          uint32
	probeEvery uint64

	large  sluice.Hysteresis // the batch is too large for drafts
	drafts acceptance
	probed uint64 // the step of the last probe, or of the last draft before drafts became poor
}

// Reads declares what the policy looks at beside what is always there.
func (p *policy) Reads() sluice.Group { return sluice.GroupSpeculation }

// Configure implements sluice.Configurer.
func (p *policy) Configure(c *sluice.Config) error {
	most := c.Int("max_batch", 4, 1, sluice.MaxRows)
	p.k = uint32(c.Int("k", 7, 0, sluice.MaxDraft))
	band := c.Int("band", 1, 0, sluice.MaxRows-1)
	hold := c.Int("hold_steps", 16, 0, 100_000)
	p.large = sluice.Hysteresis{Above: most, Below: max(most-band, 1), Hold: hold}
	p.drafts = newAcceptance(c.Ratio("min_accept", sluice.One/10, 0, sluice.One))
	p.probeEvery = uint64(c.Int("probe_every", 64, 1, 100_000))
	return nil
}

// Speculate implements sluice.Speculator.
func (p *policy) Speculate(st *sluice.State, rows []sluice.Row, out *sluice.SpecPlan, k []int32) bool {
	p.drafts.learn(st.Drafted, st.Accepted)
	switch {
	case p.large.Update(int64(st.StepID), int64(st.Running)):
		return true
	case !p.drafts.poor():
		p.probed = st.StepID
	case st.StepID-p.probed < p.probeEvery:
		return true
	default:
		p.probed = st.StepID
		out.Probe = 1
	}
	out.K = min(p.k, st.KMax)
	for i := range rows {
		if rows[i].SpeculationAllowed == 0 {
			k[i] = 0
		}
	}
	return true
}

var (
	_ sluice.FieldReader = (*policy)(nil)
	_ sluice.Configurer  = (*policy)(nil)
	_ sluice.Speculator  = (*policy)(nil)
)

func init() { sluice.Register(&policy{}) }

func main() {}
