package sim

import (
	"encoding/csv"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func profile(t testing.TB, name string) Profile {
	t.Helper()
	p, err := ParseProfile(name)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func near(got, want, tolerance float64) bool { return math.Abs(got-want) <= tolerance*want }

func TestSizesOfTheModels(t *testing.T) {
	for _, c := range []struct {
		model            string
		weights, head, b float64
	}{
		{"llama-3.1-8b", 6.979e9, 0.525e9, 131072},
		{"llama-3.1-70b", 68.45e9, 1.051e9, 327680},
	} {
		s := shapes[c.model]
		if !near(s.Weights(), c.weights, 1e-3) || !near(s.Head(), c.head, 1e-3) || s.KVBytes() != c.b {
			t.Errorf("%s: %g weights, %g in the head, %g bytes a token", c.model, s.Weights(), s.Head(), s.KVBytes())
		}
	}
}

// The number of tokens in a step at which arithmetic overtakes reading the weights is FLOPS / bandwidth.
func TestDecodeTurnsComputeBoundWhereTheDataSheetSays(t *testing.T) {
	for device, want := range map[string]float64{"h100": 295, "h200": 206, "a100": 153, "l4": 403, "l40s": 419, "b200": 292, "rtxpro6000": 261} {
		g := gpus[device]
		if got := g.FLOPS / g.Bandwidth; !near(got, want, 0.01) {
			t.Errorf("%s: %.0f, want %.0f", device, got, want)
		}
	}
}

func TestADecodeStepIsBoundByReadingTheWeights(t *testing.T) {
	p := profile(t, "llama-3.1-8b@h100")
	one := p.StepNS([]Part{{Context: 100, New: 1, Logits: 1}})
	verify := p.StepNS([]Part{{Context: 100, New: 8, Logits: 8}})
	if one < 6_000_000 || one > 9_000_000 {
		t.Errorf("one decode step takes %d ns", one)
	}
	if verify > one*102/100 {
		t.Errorf("verifying 7 drafts takes %d ns, plain decoding %d: it should be almost free", verify, one)
	}
	if p.StepNS(nil) != 0 {
		t.Error("an empty step takes time")
	}
}

func drawParts(t *rapid.T) []Part {
	var parts []Part
	for range rapid.IntRange(1, 40).Draw(t, "seqs") {
		n := rapid.IntRange(1, 512).Draw(t, "new")
		parts = append(parts, Part{Context: rapid.IntRange(0, 30000).Draw(t, "context"), New: n, Logits: rapid.IntRange(0, n).Draw(t, "logits")})
	}
	return parts
}

func TestStepTimeIsPureAndGrows(t *testing.T) {
	costs := []Profile{profile(t, "llama-3.1-8b@h100"), profile(t, "llama-3.1-70b@h200x4:fp8"), profile(t, "llama-3.1-8b@l4:fp8")}
	rapid.Check(t, func(t *rapid.T) {
		parts := drawParts(t)
		for _, c := range costs {
			ns := c.StepNS(parts)
			turned := slices.Clone(parts)
			slices.Reverse(turned)
			if ns <= 0 || c.StepNS(turned) != ns {
				t.Fatalf("%s: %d ns, in another order %d", c.Name, ns, c.StepNS(turned))
			}
			more := append(slices.Clone(parts), Part{Context: 10, New: 1, Logits: 1})
			if c.StepNS(more) < ns {
				t.Fatalf("%s: a step with more in it is shorter", c.Name)
			}
			merged := c.StepNS(parts[:len(parts)/2]) + c.StepNS(parts[len(parts)/2:])
			if ns > merged+1000 {
				t.Fatalf("%s: one step takes %d ns, the same in two %d", c.Name, ns, merged)
			}
		}
	})
}

func TestTheMeasuredTable(t *testing.T) {
	p := profile(t, CPUProfile)
	rows := func(n int) int64 { return p.StepNS([]Part{{New: n}}) }
	for _, c := range []struct {
		rows int
		want int64
	}{{1, 5_900_000}, {2, 8_900_000}, {5, 18_000_000}, {7, 19_000_000}, {128, 145_000_000}, {228, 217_000_000}} {
		if got := rows(c.rows); got != c.want {
			t.Errorf("%d rows: %d, want %d", c.rows, got, c.want)
		}
	}
	// Prefill was measured at 1,130 to 1,650 tokens a second.
	if perSecond := 512 / (float64(rows(512)) / 1e9); perSecond < 1100 || perSecond > 1650 {
		t.Errorf("prefill of %.0f tokens/s", perSecond)
	}
}

func TestProfiles(t *testing.T) {
	p := profile(t, "sim:Llama-3.1-8B@H100")
	if p.KVTokens < 380_000 || p.KVTokens > 450_000 || p.ContextTokens != 131072 || p.Name != "llama-3.1-8b@h100" {
		t.Errorf("%+v", p)
	}
	for name, says := range map[string]string{
		"llama-3.1-8b":           "h100",
		"gpt@h100":               "llama-3.1-8b",
		"llama-3.1-8b@h100x9":    "1 to 8",
		"llama-3.1-8b@h100:int3": "int3",
		"llama-3.1-8b@a100:fp8":  "no fp8",
		"llama-3.1-70b@h100":     "x2",
		"":                       CPUProfile,
	} {
		if _, err := ParseProfile(name); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func FuzzParseProfile(f *testing.F) {
	for _, s := range []string{"llama-3.1-8b@h100", "sim:qwen3-32b@rtxpro6000x2:fp8", "cpu-smollm2", "@x:", "a@bx-1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		p, err := ParseProfile(s)
		if err == nil && (p.StepNS([]Part{{New: 1}}) <= 0 || p.KVTokens < 1 || p.ContextTokens > p.KVTokens) {
			t.Fatalf("%q: %+v", s, p)
		}
	})
}

// shared finds the folder of measured profiles, which lies beside the repository where there is one.
func shared(t *testing.T, elem ...string) string {
	t.Helper()
	base := os.Getenv("SLUICE_SHARED")
	dir, err := os.Getwd()
	for base == "" && err == nil && dir != filepath.Dir(dir) {
		dir = filepath.Dir(dir)
		if _, missing := os.Stat(filepath.Join(dir, "shared", "traces")); missing == nil {
			base = filepath.Join(dir, "shared")
		}
	}
	if base == "" {
		t.Skip("no measured profiles: SLUICE_SHARED is not set and there is no folder shared/ above")
	}
	return filepath.Join(append([]string{base}, elem...)...)
}

// The default factors against mean TPOT of real engines at fixed lengths and concurrency: published points of vLLM, SGLang
// and TensorRT-LLM. One model of all three cannot be exact; worse than this it would be wrong.
func TestTPOTAgainstMeasuredServingPoints(t *testing.T) {
	f, err := os.Open(shared(t, "traces", "profiles", "aiconfigurator", "silicon_dense_agg.csv"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var errs []float64
	for _, row := range rows[1:] {
		fields := map[string]string{}
		for i, name := range rows[0] {
			fields[name] = row[i]
		}
		if got, want, ok := predictTPOT(fields); ok {
			errs = append(errs, math.Abs(got/want-1))
		}
	}
	slices.Sort(errs)
	sum := 0.0
	for _, e := range errs {
		sum += e
	}
	mean, median := sum/float64(len(errs)), errs[len(errs)/2]
	t.Logf("%d points: mean error %.1f %%, median %.1f %%", len(errs), 100*mean, 100*median)
	if len(errs) < 900 || mean > 0.22 || median > 0.16 {
		t.Errorf("%d points, mean error %.3f, median %.3f", len(errs), mean, median)
	}
}

func predictTPOT(f map[string]string) (got, want float64, ok bool) {
	n := func(name string) float64 { v, _ := strconv.ParseFloat(f[name], 64); return v }
	model := "llama-3.1-8b"
	switch {
	case strings.Contains(f["model_path"], "Qwen3-32B"):
		model = "qwen3-32b"
	case strings.Contains(f["model_path"], "70B"):
		model = "llama-3.1-70b"
	}
	device, known := gpus[strings.TrimSuffix(f["system"], "_sxm")]
	want = n("silicon_tpot_ms")
	if !known || f["precision"] == "fp4" || want <= 0 || n("osl") < 2 {
		return 0, 0, false
	}
	r := &Roofline{Shape: shapes[model], GPU: device, TP: int(n("tp_size")), FP8: f["precision"] == "fp8", Factors: DefaultFactors}
	// In the steady state of a closed loop each of the B requests is replaced once in osl steps: that much prefill a step.
	var parts []Part
	for range int(n("batch_size")) {
		parts = append(parts, Part{Context: int(n("isl") + n("osl")/2), New: 1, Logits: 1})
	}
	parts = append(parts, Part{Context: int(n("isl") / 2), New: int(n("batch_size") * n("isl") / n("osl"))})
	return float64(r.StepNS(parts)) / 1e6, want, true
}
