package llama

import (
	"fmt"
	"strings"

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

// chooseDevice finds what was asked for. It never answers with something else: a server that was meant for a GPU must
// not start on the CPU because a driver is missing.
func chooseDevice(want string, offered []DeviceInfo) (DeviceInfo, error) {
	for _, d := range offered {
		if strings.EqualFold(want, d.Name) || (want == DeviceAuto && d.GPU) {
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
