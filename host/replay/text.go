package replay

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
)

const header = "BUCKET\tSIDE\tN\tTTFT_P50_MS\tTTFT_P95_MS\tTTFT_P99_MS\tTPOT_P50_MS\tTPOT_P95_MS\tTPOT_P99_MS\tGAP_P99_MS\tSHED\tCANCELLED\tSLO_PCT"

// WriteText writes the report as tables for people: a row for A, one for B and one for the difference, by prompt bucket.
func (r *Report) WriteText(w io.Writer) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "trace: %d requests at speed %g on %s, seed %d\n", r.Requests, r.Speed, r.Sim, r.Seed)
	if r.Drawn > 0 {
		fmt.Fprintf(&b, "the output lengths of %d requests that the trace saw shed, cancelled or cut off are drawn from the others\n", r.Drawn)
	}
	if r.Excluded > 0 {
		fmt.Fprintf(&b, "%d records without a prompt are left out\n", r.Excluded)
	}
	fmt.Fprintln(&b, r.SLO.text())
	for _, c := range r.Comparisons {
		c.text(&b)
	}
	if _, err := w.Write(b.Bytes()); err != nil {
		return fmt.Errorf("write replay report: %w", err)
	}
	return nil
}

func (s SLO) text() string {
	var clauses []string
	if s.TTFT > 0 {
		c := "TTFT < " + millis(s.TTFT) + " ms"
		if s.TTFTMaxPrompt > 0 {
			c += fmt.Sprintf(" (prompts under %d tokens)", s.TTFTMaxPrompt)
		}
		clauses = append(clauses, c)
	}
	if s.TPOT > 0 {
		clauses = append(clauses, "TPOT < "+millis(s.TPOT)+" ms")
	}
	if s.MaxGap > 0 {
		clauses = append(clauses, "no gap of "+millis(s.MaxGap)+" ms")
	}
	return "SLO_PCT: served with " + strings.Join(append(clauses, "no rejection"), ", ") + "; of all that were attempted"
}

func (c *Comparison) text(b *bytes.Buffer) {
	fmt.Fprintf(b, "\nstep time %d %%\n", c.StepPercent)
	c.A.text(b, "A", c.Buckets[len(c.Buckets)-1].A.Outcomes)
	c.B.text(b, "B", c.Buckets[len(c.Buckets)-1].B.Outcomes)
	fmt.Fprintln(b)
	t := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, header)
	marked := false
	for i := range c.Buckets {
		p := &c.Buckets[i]
		if p.A.N == 0 && p.B.N == 0 {
			continue
		}
		marked = p.A.text(t, p.Bucket, "A") || marked
		marked = p.B.text(t, p.Bucket, "B") || marked
		p.Diff.text(t, p.Bucket)
	}
	t.Flush() // into a buffer: it cannot fail
	if marked {
		fmt.Fprintf(b, "* fewer than %d values behind a p95, or %d behind a p99\n", fewForP95, fewForP99)
	}
}

func (t *Totals) text(b *bytes.Buffer, side string, outcomes map[string]int) {
	fmt.Fprintf(b, "%s = %s: %d steps, %d output tokens/s", side, t.Name, t.Steps, t.TokensPerSecond)
	for _, x := range []struct {
		n    uint64
		text string
	}{{t.Preemptions, "preemptions"}, {t.Forced, "forced"}, {t.Clamped, "clamped"}} {
		if x.n > 0 {
			fmt.Fprintf(b, ", %d %s", x.n, x.text)
		}
	}
	if t.Drafted > 0 {
		fmt.Fprintf(b, ", %d of %d drafts accepted", t.Accepted, t.Drafted)
	}
	var ends []string
	for _, name := range slices.Sorted(maps.Keys(outcomes)) {
		ends = append(ends, fmt.Sprintf("%s %d", name, outcomes[name]))
	}
	fmt.Fprintf(b, "; %s; decisions %.12s\n", strings.Join(ends, ", "), t.Decisions)
}

// text reports whether it marked a percentile.
func (s *Summary) text(w io.Writer, bucket, side string) (marked bool) {
	cells := []string{bucket, side, strconv.Itoa(s.N)}
	cell := func(p *Percentiles, v *int64, name string) {
		mark := ""
		if slices.Contains(p.Few, name) {
			mark, marked = "*", true
		}
		cells = append(cells, optionalMillis(v)+mark)
	}
	for _, p := range []*Percentiles{&s.TTFT, &s.TPOT} {
		cell(p, p.P50, "p50")
		cell(p, p.P95, "p95")
		cell(p, p.P99, "p99")
	}
	cell(&s.MaxGap, s.MaxGap.P99, "p99")
	cells = append(cells, strconv.Itoa(s.Shed), strconv.Itoa(s.Cancelled), percent(s.MetPPM()))
	fmt.Fprintln(w, strings.Join(cells, "\t"))
	return marked
}

func (d *Diff) text(w io.Writer, bucket string) {
	cells := []string{bucket, "A-B", ""}
	for _, v := range []*int64{d.TTFT.P50, d.TTFT.P95, d.TTFT.P99, d.TPOT.P50, d.TPOT.P95, d.TPOT.P99, d.MaxGap.P99} {
		text := optionalMillis(v)
		if v != nil {
			text = signed(*v, text)
		}
		cells = append(cells, text)
	}
	cells = append(cells, signed(int64(d.Shed), strconv.Itoa(d.Shed)), signed(int64(d.Cancelled), strconv.Itoa(d.Cancelled)),
		signed(d.MetPPM, percent(d.MetPPM)))
	fmt.Fprintln(w, strings.Join(cells, "\t"))
}

func signed(v int64, text string) string {
	if v > 0 {
		return "+" + text
	}
	return text
}

func optionalMillis(v *int64) string {
	if v == nil {
		return "-"
	}
	return millis(*v)
}

// millis writes ns as milliseconds with one decimal, rounded half away from zero.
func millis(ns int64) string { return decimal(ns, 100_000, 10) }

// percent writes parts per million with two decimals.
func percent(ppm int64) string { return decimal(ppm, 100, 100) }

// decimal writes v/unit as a number with as many decimals as scale has zeros.
func decimal(v, unit, scale int64) string {
	sign := ""
	if v < 0 {
		sign, v = "-", -v
	}
	v = (v + unit/2) / unit
	digits := len(strconv.FormatInt(scale, 10)) - 1
	if v == 0 {
		sign = ""
	}
	return fmt.Sprintf("%s%d.%0*d", sign, v/scale, digits, v%scale)
}
