package llama

import (
	"os"
	"runtime"
	"testing"
)

// The compute threads end with their device: a server that opened many would drown in them.
func TestComputeThreadsEndWithTheDevice(t *testing.T) {
	if runtime.NumCPU() < 2 {
		t.Skip("one CPU: no further threads")
	}
	threads := func() int {
		tasks, err := os.ReadDir("/proc/self/task")
		if err != nil {
			t.Skipf("read the process's threads: %v", err)
		}
		return len(tasks)
	}
	const devices = 24
	before := threads()
	for range devices {
		d := open(t, func(o *Options) { o.Threads = runtime.NumCPU() })
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if grown := threads() - before; grown >= devices/2 {
		t.Errorf("%d threads more after %d devices were closed", grown, devices)
	}
}
