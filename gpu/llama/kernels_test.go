package llama

import (
	"runtime"
	"strings"
	"testing"

	"github.com/sluice-dev/sluice/gpu/llama/internal/gguf"
)

func TestSlowWeightsAreNamed(t *testing.T) {
	model := func(types ...gguf.Type) *gguf.Header {
		h := new(gguf.Header)
		for _, ty := range types {
			h.Tensors = append(h.Tensors, gguf.Tensor{Dims: []uint64{256, 256}, Type: ty})
		}
		h.Tensors = append(h.Tensors, gguf.Tensor{Dims: []uint64{1 << 20}, Type: gguf.Q5_1}) // a vector is no matrix
		return h
	}
	avx2 := features{arch: "amd64", avx: true, avx2: true}
	amx := features{arch: "amd64", avx: true, avx2: true, avx512: true, amx: true}
	arm := features{arch: "arm64", dotprod: true}
	for name, c := range map[string]struct {
		h    *gguf.Header
		f    features
		says string
	}{
		"q4_1 on AVX2":            {model(gguf.Q4_1), avx2, "q4_1"},
		"q4_1 on AMX":             {model(gguf.Q4_1), amx, ""},
		"iq4_nl on AVX2":          {model(gguf.IQ4NL, gguf.Q8_0), avx2, ""},
		"q6_k on AVX2":            {model(gguf.Q6_K), avx2, "q6_k"},
		"q6_k on ARM":             {model(gguf.Q6_K), arm, ""},
		"q4_1 on ARM":             {model(gguf.Q4_1), arm, "q4_1"},
		"q4_0 on old ARM":         {model(gguf.Q4_0), features{arch: "arm64"}, "q4_0"},
		"a few slow ones":         {model(gguf.Q4_K, gguf.Q4_K, gguf.Q4_K, gguf.Q4_K, gguf.Q4_K, gguf.Q6_K), avx2, ""},
		"half slow":               {model(gguf.Q4_K, gguf.Q6_K), avx2, "50 %"},
		"a CPU nobody knows":      {model(gguf.Q4_1), features{arch: "riscv64"}, ""},
		"a type that is new":      {model(gguf.Type(99)), avx2, "type 99"},
		"k-quants without AVX2":   {model(gguf.Q4_K), features{arch: "amd64", avx: true}, "without AVX2"},
		"no matrix at all":        {model(), avx2, ""},
		"mixed, worst is counted": {model(gguf.Q4_1, gguf.Q6_K, gguf.Q6_K), avx2, "100 % of the weights, most of them q6_k"},
	} {
		got := strings.Join(kernelWarnings(c.h, c.f, "/m/x.gguf"), " ")
		if (got == "") != (c.says == "") || !strings.Contains(got, c.says) {
			t.Errorf("%s: %q, should say %q", name, got, c.says)
		}
		if got != "" && !strings.Contains(got, "sluice model convert /m/x.gguf /m/x.IQ4_NL.gguf --type iq4_nl") {
			t.Errorf("%s: no command in %q", name, got)
		}
	}
}

func TestPublishedModelWarnsHere(t *testing.T) {
	if f := cpuFeatures(); runtime.GOARCH != "amd64" || f.amx {
		t.Skip("this CPU has a fast kernel for Q4_1, or is not known")
	}
	d := open(t, func(o *Options) { _, o.ModelPath, _ = testPaths(t) })
	if w := strings.Join(d.Info().Warnings, " "); !strings.Contains(w, "q4_1") {
		t.Errorf("warnings: %q", w)
	}
}
