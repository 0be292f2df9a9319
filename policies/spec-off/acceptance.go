package main

import sluice "github.com/sluice-dev/sluice/sdk/go"

// evidence is how many verified drafts make one sample of the average. A single step's share says little.
const evidence = 32

// acceptance follows the share of accepted drafts by the host's running totals.
type acceptance struct {
	mean     sluice.EWMA       // ppm
	rejected sluice.Hysteresis // of One - mean

	drafted, accepted uint64 // the totals up to the last sample
	begun             bool
}

func newAcceptance(least int64) acceptance {
	return acceptance{
		mean:     sluice.EWMA{Shift: 2},
		rejected: sluice.Hysteresis{Above: sluice.One - least, Below: sluice.One - min(least+least/4, sluice.One)},
	}
}

// learn takes the totals. Totals that went back belong to another run of the host: counting starts anew.
func (a *acceptance) learn(drafted, accepted uint64) {
	if !a.begun || drafted < a.drafted || accepted < a.accepted {
		a.begun, a.drafted, a.accepted = true, drafted, accepted
		return
	}
	d, ok := drafted-a.drafted, accepted-a.accepted
	if d < evidence {
		return
	}
	a.drafted, a.accepted = drafted, accepted
	a.mean.Add(int64(ppm(ok, d)))
	mean, _ := a.mean.Value()
	a.rejected.Update(0, sluice.One-mean)
}

// ppm is ok of d in ppm, at most One, without overflow for totals of any size.
func ppm(ok, d uint64) uint64 {
	if ok >= d {
		return sluice.One
	}
	for d >= 1<<40 {
		ok, d = ok>>1, d>>1
	}
	return ok * sluice.One / d
}

// poor reports whether drafts are not worth verifying.
func (a *acceptance) poor() bool { return a.rejected.On() }
