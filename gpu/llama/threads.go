package llama

import (
	"fmt"

	capi "github.com/hybridgroup/yzma/pkg/llama"
)

// spin is how long, in percent of ggml's longest, the compute threads look for work before they sleep: some 2 ms. That bridges
// the time between two steps; longer, and they take the cores from those who sample and write. At 8 streams on two cores 1 was
// best of 0, 1, 5 and 50, which is ggml's own.
const spin = 1

// openThreads starts the threads that compute beside the caller's own. Without them llama.cpp starts new ones for every step,
// which costs a tenth of a small model's.
func (c *Context) openThreads() (err error) {
	calmMonitor()
	if c.opts.Threads < 2 {
		return nil
	}
	p := capi.ThreadpoolParamsDefault(int32(c.opts.Threads))
	p.Poll = spin
	lib.mu.Lock() // the bindings look their functions up at the first call, without a lock of their own
	defer lib.mu.Unlock()
	if c.threads, err = capi.ThreadpoolNew(&p); err != nil {
		return fmt.Errorf("start %d compute threads: %w", c.opts.Threads, err)
	}
	return nil
}

// lendThreads has a context compute with them. They must outlive it, and serve one context at a time: those of a device and its
// drafter take turns under the device's lock.
func (c *Context) lendThreads(ctx capi.Context) {
	if c.threads != 0 {
		capi.AttachThreadpool(ctx, uintptr(c.threads), uintptr(c.threads))
	}
}

// closeThreads ends them; every context that they were lent to must be gone.
func (c *Context) closeThreads() {
	capi.ThreadpoolFree(c.threads)
	c.threads = 0
}
