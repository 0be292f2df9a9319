package llama

import (
	"fmt"
	"os"
)

// Setup is everything that the device's step times depend on, as one line of text: the library, the processor, the model's file
// (its size and when it was changed), and the settings. Two devices with the same line take the same time for the same steps.
func (d *Device) Setup() string { return d.setup }

func (d *Device) describeSetup() string {
	o := d.ctx.opts
	s := fmt.Sprintf("llama.cpp %s on %s (%s, %s); model %s; threads %d, KV %s %s %d, flash attention %s, batch %d of %d sequences and %d spare, context %d",
		lib.version, d.info.Device, d.info.DeviceName, cpuFeatures(), fileLine(o.ModelPath), o.Threads, o.KVType, o.KVLayout, d.info.KVTokens,
		o.FlashAttention, d.info.MaxBatchTokens, d.info.MaxSeqs, d.info.SpareSeqs, d.info.ContextTokens)
	if o.GPULayers > 0 {
		s += fmt.Sprintf("; %d layers on the GPU", o.GPULayers)
	}
	if o.Drafter != "" {
		s += fmt.Sprintf("; drafter %s %s", o.Drafter, fileLine(o.DraftModel))
	}
	return s
}

func fileLine(path string) string {
	st, err := os.Stat(path)
	if err != nil {
		return path
	}
	return fmt.Sprintf("%s of %d bytes, %s", st.Name(), st.Size(), st.ModTime().UTC().Format("2006-01-02T15:04:05.000000000Z"))
}
