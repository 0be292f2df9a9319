package llama

import (
	"os"
	"slices"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"
)

// Once a device is open, the first thread that the runtime started is a batch thread, and the process's own is as it was.
func TestTheRuntimesMonitorMakesWayForComputeThreads(t *testing.T) {
	_ = open(t, nil)
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		t.Fatal(err)
	}
	var tids []int
	for _, e := range tasks {
		tid, err := strconv.Atoi(e.Name())
		if err != nil {
			t.Fatal(err)
		}
		tids = append(tids, tid)
	}
	slices.Sort(tids)
	first := tids[(slices.Index(tids, os.Getpid())+1)%len(tids)]
	for tid, want := range map[int]uint32{first: unix.SCHED_BATCH, os.Getpid(): unix.SCHED_NORMAL} {
		attr, err := unix.SchedGetAttr(tid, 0)
		if err != nil {
			t.Fatal(err)
		}
		if attr.Policy != want {
			t.Errorf("thread %d of %v, whose process is %d, has policy %d, want %d", tid, tids, os.Getpid(), attr.Policy, want)
		}
	}
}
