// Spec-off drafts where that pays, and not at all where it does not.
//
// It decides the draft tokens of a step. While the host knows what its steps take, it says how many drafts of each request pay
// (k_goodput), by measured step times and by what was accepted; the policy takes them, up to k for a request, and none while more than
// max_batch requests run. Requests for which there is nothing on offer, or whose client opted out, draft nothing.
//
// While the host knows nothing of its steps, two rules stand in:
//
//   - k while at most max_batch requests run, 0 from the very step in which more do. Speculation comes back when at most
//     max_batch - band have run for hold_steps, so that a batch that hovers around the threshold does not switch to and fro.
//   - 0 as well while drafts are rejected: when a moving average of the share of accepted drafts falls below min_accept. Every
//     probe_every steps one step drafts all the same, marked as a probe, so that speculation comes back when the text changes.
//     A quarter above min_accept is enough.
//
// Settings:
//
//	max_batch    0     0 to 256; 0 = no limit, but 4 while the host knows nothing of its steps
//	k            15    draft tokens, 0 to 15
//	band         1     0 to 255
//	hold_steps   16    0 to 100000
//	min_accept   0.1   0 to 1; 0 turns the rule off
//	probe_every  64    steps, 1 to 100000
//
//	sluice policy push spec-off.wasm --set max_batch=8 --set k=4
package main

import sluice "github.com/sluice-dev/sluice/sdk/go"

type policy struct {
	k          uint32
	limited    bool // max_batch was given
	probeEvery uint64

	large  sluice.Hysteresis // the batch is too large for drafts
	drafts acceptance
	probed uint64 // the step of the last probe, or of the last draft before drafts became poor
}

// unmeasured is max_batch where the host knows nothing of its steps and no other was given.
const unmeasured = 4

// Reads declares what the policy looks at beside what is always there.
func (p *policy) Reads() sluice.Group { return sluice.GroupSpeculation | sluice.GroupRowSpeculation }

// Configure implements sluice.Configurer.
func (p *policy) Configure(c *sluice.Config) error {
	most := c.Int("max_batch", 0, 0, sluice.MaxRows)
	p.limited = most > 0
	if !p.limited {
		most = unmeasured
	}
	p.k = uint32(c.Int("k", sluice.MaxDraft, 0, sluice.MaxDraft))
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
	large := p.large.Update(int64(st.StepID), int64(st.Running))
	if len(rows) > 0 && measured(&rows[0]) {
		p.probed = st.StepID
		if !large || !p.limited {
			p.takeWhatPays(st, rows, out, k)
		}
		return true
	}
	switch {
	case large:
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

func (p *policy) takeWhatPays(st *sluice.State, rows []sluice.Row, out *sluice.SpecPlan, k []int32) {
	out.K = min(p.k, st.KMax)
	for i := range rows {
		k[i] = 0
		if measured(&rows[i]) {
			k[i] = int32(min(out.K, rows[i].KGoodput))
		}
	}
}

func measured(x *sluice.Row) bool { return x.Valid&sluice.RowHasKGoodput != 0 }

var (
	_ sluice.FieldReader = (*policy)(nil)
	_ sluice.Configurer  = (*policy)(nil)
	_ sluice.Speculator  = (*policy)(nil)
)

func init() { sluice.Register(&policy{}) }

func main() {}
