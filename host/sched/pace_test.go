package sched

import (
	"testing"

	"github.com/sluice-dev/sluice/gpu"
	"pgregory.net/rapid"
)

// line device: a step takes base + each for a decoding row + token for a prompt token.
type lineDevice struct{ base, row, token int64 }

func (d lineDevice) ns(decoding, prompt int) int64 {
	return d.base + d.row*int64(decoding) + d.token*int64(prompt)
}

// fits is how many tokens from the beginning on fit into ns beside decoding rows.
func fits(p *pace, decoding int, ns int64) (int, bool) {
	w, most, ok := p.room(decoding, ns)
	return min(tokens(0, w, 0), most), ok
}

func TestAPredictionComesTrueOnADeviceThatIsAsSimple(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := lineDevice{rapid.Int64Range(1e5, 5e7).Draw(t, "base"), rapid.Int64Range(0, 1e6).Draw(t, "row"), rapid.Int64Range(1e3, 5e6).Draw(t, "token")}
		p := newPace(&gpu.Costs{})
		decoding := rapid.IntRange(1, 128).Draw(t, "decoding")
		for range 8 {
			p.learn(decoding, 0, 0, d.ns(decoding, 0))
		}
		for range 40 {
			n := rapid.IntRange(1, 512).Draw(t, "prompt")
			p.learn(decoding, n, int64(n)*unit, d.ns(decoding, n))
		}
		target := rapid.Int64Range(1e6, 2e8).Draw(t, "target")
		n, ok := fits(&p, decoding, target)
		if !ok || n < 0 || n > max(firstChunk, 2*p.most) {
			t.Fatalf("%d tokens fit, known %v, after at most %d", n, ok, p.most)
		}
		if got := d.ns(decoding, n); n > 0 && got > target+target/20+d.token {
			t.Fatalf("%d tokens beside %d rows take %d ns, the target is %d", n, decoding, got, target)
		}
		if more := d.ns(decoding, n+n/10+2); n < 2*p.most && more < target {
			t.Fatalf("only %d tokens beside %d rows, though %d would take %d ns of %d", n, decoding, n+n/10+2, more, target)
		}
	})
}

func TestOneStepThatStandsOutChangesNoPrediction(t *testing.T) {
	d := lineDevice{10e6, 0, 100e3}
	p := newPace(&gpu.Costs{})
	for range 20 {
		p.learn(4, 0, 0, d.ns(4, 0))
		p.learn(4, 64, 64*unit, d.ns(4, 64))
	}
	before, _ := fits(&p, 4, 40e6)
	p.learn(4, 64, 64*unit, 10e9)
	p.learn(4, 0, 0, 10e9)
	if after, _ := fits(&p, 4, 40e6); after < before*9/10 || after > before*11/10 {
		t.Errorf("%d tokens fitted, and %d after a step of 10 s", before, after)
	}
	for range 30 {
		p.learn(4, 64, 64*unit, 4*d.ns(4, 64))
	}
	if slow, _ := fits(&p, 4, 40e6); slow > before/2 {
		t.Errorf("the device has become four times as slow, and %d tokens fit after %d", slow, before)
	}
}

func TestPredictionsBeginWithWhatWasMeasured(t *testing.T) {
	costs := gpu.Costs{PrefillToken: 50e3}
	costs.Step[2][0], costs.Step[4][0] = 8e6, 20e6 // of 4 and of 16 rows
	p := newPace(&costs)
	for _, c := range []struct {
		rows  int
		fits  int
		decod int64
	}{{3, 640, 8e6}, {4, 640, 8e6}, {5, 400, 20e6}, {16, 400, 20e6}, {100, 400, 20e6}, {1, 640, 8e6}} {
		if got := p.decoding(c.rows); got != c.decod {
			t.Errorf("%d rows decode in %d ns, want %d", c.rows, got, c.decod)
		}
		if n, ok := fits(&p, c.rows, 40e6); !ok || n != c.fits {
			t.Errorf("%d tokens fit beside %d rows, want %d", n, c.rows, c.fits)
		}
	}
	if n, ok := fits(&p, 16, 20e6); !ok || n != 0 {
		t.Errorf("%d tokens fit into no time at all", n)
	}
}

func TestNothingIsPredictedFromNothing(t *testing.T) {
	p := newPace(&gpu.Costs{})
	p.learn(4, 0, 0, 0)
	p.learn(4, 16, 16*unit, -5)
	if n, ok := fits(&p, 1, 50e6); ok {
		t.Errorf("%d tokens fit", n)
	}
	p.learn(1, 16, 16*unit, 1<<62)
	if n, ok := fits(&p, 1, 1<<62); !ok || n < 0 {
		t.Errorf("%d tokens fit, known %v", n, ok)
	}
}
