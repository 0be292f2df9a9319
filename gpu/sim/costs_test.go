package sim

import "testing"

func TestCostsAreTheProfilesSteps(t *testing.T) {
	for _, name := range []string{CPUProfile, "llama-3.1-8b@h100", "llama-3.1-70b@h200x4:fp8"} {
		p, err := ParseProfile(name)
		if err != nil {
			t.Fatal(err)
		}
		c := p.Costs()
		for b := range c.Step {
			seqs := 1 << b
			for k, ns := range c.Step[b] {
				fits := seqs <= p.MaxSeqs && seqs*(k+1) <= p.MaxBatchTokens
				if (ns > 0) != fits {
					t.Errorf("%s: %d sequences with %d drafts cost %d ns", name, seqs, k, ns)
				}
			}
			if seqs <= p.MaxSeqs {
				parts := make([]Part, seqs)
				for i := range parts {
					parts[i] = Part{Context: costContext, New: 4, Logits: 4}
				}
				if c.Step[b][3] != p.StepNS(parts) {
					t.Errorf("%s: %d sequences with 3 drafts cost %d ns, not %d", name, seqs, c.Step[b][3], p.StepNS(parts))
				}
			}
		}
		if c.PrefillToken <= 0 || c.PrefillToken > c.Step[0][0] {
			t.Errorf("%s: a prompt token costs %d ns, a step %d", name, c.PrefillToken, c.Step[0][0])
		}
	}
	p, err := ParseProfile(CPUProfile)
	if err != nil {
		t.Fatal(err)
	}
	if c := Open(p, Options{MaxSeqs: 4}).Costs(); c.Step[2][0] == 0 || c.Step[3][0] != 0 {
		t.Errorf("a device with four places has costs of 4 and 8 sequences: %d, %d", c.Step[2][0], c.Step[3][0])
	}
}
