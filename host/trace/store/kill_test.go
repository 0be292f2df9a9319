package store

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/sluice-dev/sluice/test/kill"
)

const childDir = "SLUICE_STORE_CHILD"

// TestMain lets the test binary be the process that is killed.
func TestMain(m *testing.M) {
	if dir := os.Getenv(childDir); dir != "" {
		child(dir, os.Getenv("SLUICE_STORE_ROUND"))
		return
	}
	os.Exit(m.Run())
}

// child writes for ever, and says after each flush which record was the last that is safe.
func child(dir, round string) {
	s, err := Open(dir, Options{Log: quiet, MinFree: 1, FlushEvery: time.Millisecond, now: at(noon)})
	if err != nil {
		fmt.Println("failed", err)
		os.Exit(1)
	}
	for i := 0; ; i++ {
		s.Put(record(fmt.Sprintf("%s-%d", round, i), noon+int64(i), "default"))
		if i%20 == 0 {
			if err := s.Flush(context.Background()); err != nil {
				fmt.Println("failed", err)
				os.Exit(1)
			}
			fmt.Println(i)
		}
	}
}

// runAndKill lets a child acknowledge some flushes, kills it, and returns what it acknowledged.
func runAndKill(t *testing.T, dir string, round, flushes int) (acked int) {
	t.Helper()
	return kill.After(t, flushes, childDir+"="+dir, fmt.Sprint("SLUICE_STORE_ROUND=", round))
}

func TestNothingAcknowledgedIsLostByAKill(t *testing.T) {
	if testing.Short() {
		t.Skip("starts and kills processes")
	}
	dir := t.TempDir()
	acked := map[int]int{}
	for round, flushes := range []int{1, 15, 4, 30, 2} {
		acked[round] = runAndKill(t, dir, round, flushes)
		s := open(t, dir, Options{})
		got, rep := ids(t, s, Query{})
		have := map[string]bool{}
		for _, id := range got {
			have[id] = true
		}
		for r, last := range acked {
			for i := 0; i <= last; i++ {
				if !have[fmt.Sprintf("%d-%d", r, i)] {
					t.Fatalf("after round %d: record %d of round %d is gone (%d records, %+v)", round, i, r, len(got), rep)
				}
			}
		}
		if len(rep.Damaged) > 0 || s.Stats().Quarantined > 0 {
			t.Fatalf("after round %d: %+v", round, rep.Damaged)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// A table that was cut makes Badger end the process while it opens, beyond recover. That must not happen for ever.
func TestATableThatKillsTheProcessIsSetAside(t *testing.T) {
	if testing.Short() {
		t.Skip("starts and kills processes")
	}
	dir := filled(t, 500)
	table := files(t, dir, "*.sst")[0]
	info, err := os.Stat(table)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(table, info.Size()/2); err != nil {
		t.Fatal(err)
	}
	deaths := 0
	for runAndKill(t, dir, 0, 1) < 0 {
		if deaths++; deaths > strikes {
			t.Fatal("the process ends each time it is started")
		}
	}
	s := open(t, dir, Options{})
	got, rep := ids(t, s, Query{})
	if len(got) == 0 || len(rep.Damaged) != 1 || rep.Damaged[0].Want < 500 {
		t.Errorf("%d deaths, %d records, %+v", deaths, len(got), rep)
	}
}
