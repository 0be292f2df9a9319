package llama

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ebitengine/purego"
	capi "github.com/hybridgroup/yzma/pkg/llama"
)

// DeviceInfo is a processor that the libraries can compute on.
type DeviceInfo struct {
	Name        string // what Options.Device takes: "cpu", "CUDA0"
	Description string // for people
	GPU         bool
	TotalBytes  uint64 // memory; 0 = unknown

	handle capi.GGMLBackendDevice
}

// Devices lists what the libraries offer on this machine, in their order. LoadLibrary must have succeeded.
func Devices() []DeviceInfo {
	var out []DeviceInfo
	for i := range capi.GGMLBackendDeviceCount() {
		h := capi.GGMLBackendDeviceGet(i)
		d := DeviceInfo{Name: capi.GGMLBackendDeviceName(h), Description: capi.GGMLBackendDeviceDescription(h), handle: h}
		_, d.TotalBytes = capi.GGMLBackendDeviceMemory(h)
		switch capi.GGMLBackendDevType(h) {
		case capi.GGMLBackendDeviceTypeCPU:
			d.Name = DeviceCPU
		case capi.GGMLBackendDeviceTypeGPU, capi.GGMLBackendDeviceTypeIGPU:
			d.GPU = true
		default: // helpers of the CPU and groups of devices
			continue
		}
		out = append(out, d)
	}
	return out
}

// chooseDevice finds what was asked for: a device by its name, or the first one of a kind ("cuda"). It never answers with
// something else: a server that was meant for a GPU must not start on the CPU because a driver is missing.
func chooseDevice(want string, offered []DeviceInfo) (DeviceInfo, error) {
	for _, d := range offered {
		if strings.EqualFold(want, d.Name) || strings.EqualFold(want, d.kind()) || (want == DeviceAuto && d.GPU) {
			return d, nil
		}
	}
	for _, d := range offered {
		if want == DeviceAuto && !d.GPU {
			return d, nil
		}
	}
	return DeviceInfo{}, usagef("device %q is not offered by the llama.cpp libraries on this machine; they offer %s", want, offer(offered))
}

// kind is the name without its number: "CUDA" of "CUDA0".
func (d DeviceInfo) kind() string { return strings.TrimRight(d.Name, "0123456789") }

// hintOf says why a device of NVIDIA may be missing, where none at all is offered.
func hintOf(want, dir string, offered []DeviceInfo) string {
	isCUDA := func(name string) bool { return strings.HasPrefix(strings.ToLower(name), "cuda") }
	if !isCUDA(want) || slices.ContainsFunc(offered, func(d DeviceInfo) bool { return isCUDA(d.Name) }) {
		return ""
	}
	if fault := cudaFault(dir); fault != "" {
		return "; " + fault
	}
	return fmt.Sprintf("; the libraries in %s have no part for CUDA: make setup-cuda fetches some that have", dir)
}

// cudaFault says why the part for CUDA of the libraries in dir offers no device; "" where there is no such part.
func cudaFault(dir string) string {
	found, _ := filepath.Glob(filepath.Join(dir, "*ggml-cuda*"))
	if len(found) == 0 {
		return ""
	}
	if _, err := purego.Dlopen(found[0], purego.RTLD_NOW|purego.RTLD_LOCAL); err != nil {
		return fmt.Sprintf("the part for CUDA cannot be loaded: %v (libcuda.so.1 comes with NVIDIA's driver, libcudart.so.13 and libcublas.so.13 with CUDA 13)", err)
	}
	return "the part for CUDA is loaded, so the driver shows it no GPU (nvidia-smi says more)"
}

// deviceWarnings tells those who left the choice open, and have libraries for a GPU, why it is the CPU all the same.
func (c *Context) deviceWarnings() []string {
	if c.opts.Device != DeviceAuto || c.device.GPU {
		return nil
	}
	fault := cudaFault(c.opts.LibDir)
	if fault == "" {
		return nil
	}
	return []string{"the CPU computes, though the libraries are for a GPU too: " + fault + "; --device cpu says that this is meant"}
}

func offer(ds []DeviceInfo) string {
	var names []string
	for _, d := range ds {
		names = append(names, fmt.Sprintf("%s (%s)", d.Name, d.Description))
	}
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}
