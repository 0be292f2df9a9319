package llama

import (
	"os"
	"slices"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"
)

// Of this process's threads, one is a batch thread once a device is open: the first one that was started. The others, which decode,
// sample and write, are as they were.
func TestTheRuntimesMonitorMakesWayForComputeThreads(t *testing.T) {
	_ = open(t, nil)
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		t.Fatal(err)
	}
	var tids, batch []int
	for _, e := range tasks {
		tid, err := strconv.Atoi(e.Name())
		if err != nil {
			t.Fatal(err)
		}
		attr, err := unix.SchedGetAttr(tid, 0)
		if err != nil {
			continue // it has ended since
		}
		if tids = append(tids, tid); attr.Policy == unix.SCHED_BATCH {
			batch = append(batch, tid)
		}
	}
	slices.Sort(tids)
	if first := slices.Index(tids, os.Getpid()) + 1; !slices.Equal(batch, []int{tids[first%len(tids)]}) {
		t.Errorf("batch threads %v of %v, whose process is %d", batch, tids, os.Getpid())
	}
}
