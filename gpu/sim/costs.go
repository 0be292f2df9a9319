package sim

import "github.com/sluice-dev/sluice/gpu"

// costContext is how many tokens a sequence holds in the steps of Costs.
const costContext = 256

// farTokens is how many tokens are before those of a prompt whose price with distance is compared.
const farTokens = 1024

// Costs is what a real device's steps are measured to take, computed from the profile: the same table that a server plans with.
// Copying, saving and drafting take no simulated time, and are 0.
func (p *Profile) Costs() gpu.Costs {
	var c gpu.Costs
	for b := range c.Step {
		if b > 0 && 1<<(b-1) >= p.MaxSeqs {
			break
		}
		parts := make([]Part, min(1<<b, p.MaxSeqs))
		for k := range c.Step[b] {
			if len(parts)*(k+1) > p.MaxBatchTokens {
				break
			}
			for i := range parts {
				parts[i] = Part{Context: costContext, New: k + 1, Logits: k + 1}
			}
			c.Step[b][k] = p.StepNS(parts)
		}
	}
	chunk := max(1, min(512, p.MaxBatchTokens-1))
	long, short := p.StepNS([]Part{{New: chunk + 1, Logits: 1}}), p.StepNS([]Part{{New: 1, Logits: 1}})
	c.PrefillToken = max(1, (long-short)/int64(chunk))
	far := p.StepNS([]Part{{Context: farTokens, New: chunk + 1, Logits: 1}})
	c.PrefillFar = max(0, far-long) * 1024 / int64((chunk+1)*farTokens)
	return c
}

// Costs is the profile's, within the limits that the device was opened with.
func (d *Device) Costs() gpu.Costs {
	p := d.profile
	p.MaxSeqs, p.MaxBatchTokens = d.info.MaxSeqs, d.info.MaxBatchTokens
	return p.Costs()
}
