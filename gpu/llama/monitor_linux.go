package llama

import (
	"os"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"
)

// calmMonitor keeps the thread with which Go's runtime watches its own from interrupting those that compute. It looks around every
// 20 us for milliseconds after each call into the library, some 2,000 times a second, and each time a compute thread must make way
// while the other waits for it: 15 % of the tokens per second at 1 and at 4 streams on two cores. As a batch thread it takes a core
// that is free at once, and waits for the kernel's next tick otherwise; so do the few threads that it starts, which inherit that. It changes nothing where
// the system does not allow it.
var calmMonitor = sync.OnceFunc(func() {
	if tid := monitorThread(); tid != 0 {
		_ = unix.SchedSetAttr(tid, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_BATCH}, 0)
	}
})

// monitorThread is the thread that the runtime starts first, behind the process's own: the next higher number, or the lowest where
// the numbers began anew. 0 = unknown.
func monitorThread() int {
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return 0
	}
	own, above, lowest := os.Getpid(), 0, 0
	for _, t := range tasks {
		tid, err := strconv.Atoi(t.Name())
		if err != nil || tid == own {
			continue
		}
		if tid > own && (above == 0 || tid < above) {
			above = tid
		}
		if lowest == 0 || tid < lowest {
			lowest = tid
		}
	}
	if above != 0 {
		return above
	}
	return lowest
}
