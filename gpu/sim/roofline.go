package sim

// GPU is one device's data sheet and how much of it is reached. Rates are per second.
type GPU struct {
	Name        string // for people
	FLOPS       float64
	FLOPSFP8    float64 // 0 = the device has no FP8
	Bandwidth   float64 // bytes
	Memory      float64 // bytes
	Link        float64 // bytes to the other devices of a tensor-parallel group, one direction
	LinkLatency float64 // s
}

// GPUs by the name that a profile uses. Dense peaks of the SXM variants where there are several.
var gpus = map[string]GPU{
	"h100":       {"NVIDIA H100 SXM", 989e12, 1978e12, 3.35e12, 80e9, 450e9, 10e-6},
	"h200":       {"NVIDIA H200", 989e12, 1978e12, 4.8e12, 141e9, 450e9, 10e-6},
	"a100":       {"NVIDIA A100 80G SXM", 312e12, 0, 2.039e12, 80e9, 300e9, 10e-6},
	"l4":         {"NVIDIA L4", 121e12, 242e12, 0.30e12, 24e9, 32e9, 20e-6},
	"l40s":       {"NVIDIA L40S", 362e12, 733e12, 0.864e12, 48e9, 32e9, 20e-6},
	"b200":       {"NVIDIA B200", 2250e12, 4500e12, 7.7e12, 180e9, 900e9, 10e-6},
	"rtxpro6000": {"NVIDIA RTX PRO 6000", 468e12, 936e12, 1.792e12, 96e9, 64e9, 20e-6},
}

// Shape is a dense transformer's dimensions.
type Shape struct {
	Name                       string
	Layers, Hidden, FFN, Vocab int
	Heads, KVHeads, HeadDim    int
	Context                    int // longest sequence
}

var shapes = map[string]Shape{
	"llama-3.1-8b":  {"Llama-3.1-8B", 32, 4096, 14336, 128256, 32, 8, 128, 131072},
	"llama-3.1-70b": {"Llama-3.1-70B", 80, 8192, 28672, 128256, 64, 8, 128, 131072},
	"qwen3-32b":     {"Qwen3-32B", 64, 5120, 25600, 151936, 64, 8, 128, 40960},
}

// Weights is the number of parameters in the layers' matrices.
func (s Shape) Weights() float64 {
	h, q, kv := float64(s.Hidden), float64(s.Heads*s.HeadDim), float64(s.KVHeads*s.HeadDim)
	return float64(s.Layers) * (h*(q+2*kv) + q*h + 3*h*float64(s.FFN))
}

// Head is the number of parameters in the output matrix.
func (s Shape) Head() float64 { return float64(s.Vocab) * float64(s.Hidden) }

// KVBytes is the size of one token's KV at two bytes a value.
func (s Shape) KVBytes() float64 { return float64(2 * s.Layers * s.KVHeads * s.HeadDim * 2) }

// Factors are the shares of the data sheet that kernels reach, and the fixed times.
type Factors struct {
	Compute, ComputeFP8       float64 // of the matrix products' arithmetic
	Memory, MemoryFP8         float64 // of the weights' reading
	AttentionCompute, KVRead  float64
	PerLayer, PerStep, PerSeq float64 // s
}

// DefaultFactors reached 17 % mean error of TPOT over measured serving points of several engines.
var DefaultFactors = Factors{
	Compute: .70, ComputeFP8: .55, Memory: .75, MemoryFP8: .60, AttentionCompute: .5, KVRead: .8,
	PerLayer: 12e-6, PerStep: 1e-3, PerSeq: 8e-6,
}

// Roofline computes a step's time from the sizes of a model and a device.
type Roofline struct {
	Shape   Shape
	GPU     GPU
	TP      int  // devices that share every layer
	FP8     bool // weights and matrix products in FP8, else in 16 bits
	Factors Factors
}

// StepNS adds up the matrix products (one roofline over the merged batch: the larger of arithmetic and reading the
// weights once), the attention, reading the KV once a sequence, and the fixed times.
func (r *Roofline) StepNS(parts []Part) int64 {
	l := loadOf(parts)
	if l.seqs == 0 {
		return 0
	}
	f, tp := &r.Factors, float64(r.TP)
	peak, compute, memory, size := r.GPU.FLOPS, f.Compute, f.Memory, 2.0
	if r.FP8 {
		peak, compute, memory, size = r.GPU.FLOPSFP8, f.ComputeFP8, f.MemoryFP8, 1.0
	}
	// The conversions keep a compiler from fusing multiplication and addition, which would round differently elsewhere.
	flops := float64(2*r.Shape.Weights()*float64(l.tokens)) + float64(2*r.Shape.Head()*float64(l.logits))
	products := max(flops/(compute*peak*tp), r.weightBytes(size)/(memory*r.GPU.Bandwidth*tp))
	attention := float64(4*r.Shape.Layers*r.Shape.Heads*r.Shape.HeadDim) * float64(l.pairs) / (f.AttentionCompute * r.GPU.FLOPS * tp)
	kv := float64(l.context) * r.Shape.KVBytes() / (f.KVRead * r.GPU.Bandwidth * tp)
	fixed := float64(float64(r.Shape.Layers)*f.PerLayer) + f.PerStep + float64(f.PerSeq*float64(l.seqs))
	return int64((products + attention + kv + fixed + r.allReduce(l.tokens)) * 1e9)
}

func (r *Roofline) weightBytes(size float64) float64 {
	return float64(r.Shape.Weights()*size) + float64(r.Shape.Head()*2)
}

// allReduce is two exchanges of the activations a layer, as a ring.
func (r *Roofline) allReduce(tokens int64) float64 {
	if r.TP < 2 {
		return 0
	}
	tp := float64(r.TP)
	bytes := float64(tokens) * float64(r.Shape.Hidden) * 2 * 2 * (tp - 1) / tp
	return float64(float64(2*r.Shape.Layers) * (r.GPU.LinkLatency + bytes/r.GPU.Link)) // as in StepNS
}

// kvTokens is how many tokens' KV fit beside the weights, with a tenth of the memory left for everything else.
func (r *Roofline) kvTokens() int {
	size := 2.0
	if r.FP8 {
		size = 1
	}
	free := float64(0.9*r.GPU.Memory*float64(r.TP)) - r.weightBytes(size) - float64(r.Shape.Head()*2)
	return int(free / r.Shape.KVBytes())
}

var _ Cost = (*Roofline)(nil)
