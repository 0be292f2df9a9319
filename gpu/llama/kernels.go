package llama

import (
	"fmt"
	"runtime"
	"strings"

	"golang.org/x/sys/cpu"

	"github.com/sluice-dev/sluice/gpu/llama/internal/gguf"
)

// features is what of a CPU decides which of ggml's batch kernels run on it.
type features struct {
	arch                   string // as GOARCH
	avx, avx2, avx512, amx bool
	dotprod, i8mm          bool
}

func cpuFeatures() features {
	return features{
		arch: runtime.GOARCH,
		avx:  cpu.X86.HasAVX, avx2: cpu.X86.HasAVX2, avx512: cpu.X86.HasAVX512F, amx: cpu.X86.HasAMXInt8,
		dotprod: cpu.ARM64.HasASIMDDP, i8mm: cpu.ARM64.HasI8MM,
	}
}

// fastTypes is the set of weight types that ggml 0.25 multiplies with a whole batch at a time; for any other it does
// one row after the other, and a batch of 16 is hardly faster per token than a batch of 2.
func (f features) fastTypes() map[gguf.Type]bool {
	fast := map[gguf.Type]bool{}
	add := func(on bool, types ...gguf.Type) {
		for _, t := range types {
			fast[t] = fast[t] || on
		}
	}
	switch f.arch {
	case "amd64":
		add(f.avx, gguf.F32, gguf.F16, gguf.BF16, gguf.Q8_0, gguf.Q4_0, gguf.Q5_0, gguf.IQ4NL)
		add(f.avx2, gguf.Q4_K, gguf.MXFP4, gguf.IQ2XXS, gguf.IQ2XS, gguf.IQ2S, gguf.IQ3XXS, gguf.IQ3S, gguf.IQ1S, gguf.IQ1M)
		add(f.avx512, gguf.Q2_K)
		add(f.amx, gguf.Q4_1, gguf.Q5_K, gguf.Q6_K)
	case "arm64":
		add(true, gguf.F32, gguf.F16, gguf.BF16)
		add(f.dotprod || f.i8mm, gguf.Q8_0, gguf.Q4_0, gguf.Q4_K, gguf.Q5_K, gguf.Q6_K, gguf.IQ4NL, gguf.MXFP4)
	}
	return fast
}

// kernelWarnings says when a good part of the weights has no fast batch kernel on this CPU.
func kernelWarnings(h *gguf.Header, f features, path string) []string {
	fast := f.fastTypes()
	if len(fast) == 0 {
		return nil // a CPU of which nothing is known
	}
	slow, total := map[gguf.Type]uint64{}, uint64(0)
	for _, t := range h.Tensors {
		if len(t.Dims) < 2 || t.Dims[1] < 2 {
			continue
		}
		total += t.Elements()
		if !fast[t.Type] {
			slow[t.Type] += t.Elements()
		}
	}
	var worst gguf.Type
	sum := uint64(0)
	for t, n := range slow {
		sum += n
		if n > slow[worst] || (n == slow[worst] && t < worst) {
			worst = t
		}
	}
	if total == 0 || sum*5 < total {
		return nil
	}
	return []string{fmt.Sprintf("%d %% of the weights, most of them %v, have no fast batch kernel on this CPU (%s): many streams and long prompts will be slow; "+
		"sluice model convert %s %s --type iq4_nl makes a file that has one, at some loss of quality", sum*100/total, worst, f, path, strings.TrimSuffix(path, ".gguf")+".IQ4_NL.gguf")}
}

func (f features) String() string {
	switch {
	case f.arch == "amd64" && f.avx512:
		return "x86-64 with AVX-512"
	case f.arch == "amd64" && f.avx2:
		return "x86-64 with AVX2"
	case f.arch == "amd64":
		return "x86-64 without AVX2"
	case f.i8mm:
		return "ARM64 with I8MM"
	case f.dotprod:
		return "ARM64 with dot product"
	}
	return f.arch
}
