package sim

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Profile is a model on a device: what a step costs, and how much fits.
type Profile struct {
	Cost
	Name           string // as ParseProfile reads it
	Device         string // for people
	ContextTokens  int    // longest sequence, prompt and output together
	KVTokens       int    // of all sequences together
	MaxSeqs        int
	MaxBatchTokens int
}

// CPUProfile is the name of the profile that was measured rather than computed.
const CPUProfile = "cpu-smollm2"

// maxTP bounds the devices of a tensor-parallel group.
const maxTP = 8

// ParseProfile reads MODEL@GPU[xN][:fp8], N devices together, or "cpu-smollm2"; a leading "sim:" may stand before it.
// The error of an unknown name lists those that are known.
func ParseProfile(name string) (Profile, error) {
	name = strings.ToLower(strings.TrimPrefix(name, "sim:"))
	if name == CPUProfile {
		return Profile{
			Cost: &smollm2, Name: name, Device: "two CPU cores (measured)",
			ContextTokens: 8192, KVTokens: 32768, MaxSeqs: 16, MaxBatchTokens: 512,
		}, nil
	}
	r, err := parseRoofline(name)
	if err != nil {
		return Profile{}, fmt.Errorf("parse simulated device %q: %w", name, err)
	}
	p := Profile{
		Cost: r, Name: name, Device: r.GPU.Name, KVTokens: r.kvTokens(),
		MaxSeqs: 256, MaxBatchTokens: 8192,
	}
	if r.TP > 1 {
		p.Device = fmt.Sprintf("%d x %s", r.TP, r.GPU.Name)
	}
	p.ContextTokens = min(r.Shape.Context, p.KVTokens)
	if p.KVTokens < 4096 {
		return Profile{}, fmt.Errorf("parse simulated device %q: the weights leave room for %d KV tokens; use more devices (x2) or fp8", name, max(p.KVTokens, 0))
	}
	return p, nil
}

func parseRoofline(name string) (*Roofline, error) {
	spec, precision, _ := strings.Cut(name, ":")
	model, device, _ := strings.Cut(spec, "@")
	r := &Roofline{TP: 1, Factors: DefaultFactors}
	if precision != "" && precision != "fp8" && precision != "bf16" {
		return nil, fmt.Errorf("precision %q is not bf16 or fp8", precision)
	}
	r.FP8 = precision == "fp8"
	if base, n, ok := cutLast(device, "x"); ok {
		if tp, err := strconv.Atoi(n); err == nil {
			if tp < 1 || tp > maxTP {
				return nil, fmt.Errorf("%d devices; 1 to %d", tp, maxTP)
			}
			device, r.TP = base, tp
		}
	}
	var ok bool
	if r.Shape, ok = shapes[model]; !ok {
		return nil, fmt.Errorf("model %q is not known (known: %s; or %s)", model, names(shapes), CPUProfile)
	}
	if r.GPU, ok = gpus[device]; !ok {
		return nil, fmt.Errorf("device %q is not known (known: %s)", device, names(gpus))
	}
	if r.FP8 && r.GPU.FLOPSFP8 == 0 {
		return nil, fmt.Errorf("%s has no fp8", r.GPU.Name)
	}
	return r, nil
}

func cutLast(s, sep string) (before, after string, ok bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

func names[V any](m map[string]V) string {
	return strings.Join(slices.Sorted(maps.Keys(m)), ", ")
}
