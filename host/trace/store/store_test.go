package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluice-dev/sluice/host/trace"
)

func TestWhatWasPutIsFound(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, Options{})
	want := record("b", noon+1, "batch")
	put(t, s, record("c", noon+2, "default"), record("a", noon, "default"), record("b", noon+1, "batch"), record("old", noon-dayNS, "default"),
		record("new", noon+dayNS, "batch"))
	wantIDs(t, s, Query{}, "old", "a", "b", "c", "new")
	wantIDs(t, s, Query{NewestFirst: true}, "new", "c", "b", "a", "old")
	wantIDs(t, s, Query{NewestFirst: true, Limit: 2}, "new", "c")
	wantIDs(t, s, Query{Limit: 2}, "old", "a")
	wantIDs(t, s, Query{Class: "batch"}, "b", "new")
	wantIDs(t, s, Query{From: noon + 1}, "b", "c", "new")
	wantIDs(t, s, Query{To: noon + 1}, "old", "a")
	wantIDs(t, s, Query{From: noon, To: noon + 2, NewestFirst: true}, "b", "a")
	wantIDs(t, s, Query{From: noon + 3, To: noon + 9})
	_, err := s.Scan(context.Background(), Query{Class: "batch", Limit: 1}, func(got *trace.Record) error {
		if !reflect.DeepEqual(got, want) {
			t.Errorf("got %+v\nwant %+v", got, want)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if st := s.Stats(); st.Stored != 5 {
		t.Errorf("%+v", st)
	}
}

func TestRecordsSurviveCloseAndAreReadWithoutAServer(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, Options{})
	s.Put(record("a", noon, "default")) // not flushed: Close does it
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if s.Put(record("late", noon, "default")) || s.Stats().Dropped["closed"] != 1 {
		t.Error("a closed store took a record in")
	}
	if err := s.Flush(context.Background()); !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
	if _, err := s.Scan(context.Background(), Query{}, nil); !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
	r := open(t, dir, Options{ReadOnly: true})
	wantIDs(t, r, Query{}, "a")
	if r.Put(record("b", noon, "default")) {
		t.Error("a store for reading took a record in")
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	wantIDs(t, open(t, dir, Options{}), Query{}, "a")
}

func TestASecondProcessIsTold(t *testing.T) {
	dir := t.TempDir()
	open(t, dir, Options{})
	for _, readOnly := range []bool{false, true} {
		_, err := Open(dir, Options{ReadOnly: readOnly, Log: quiet})
		if !errors.Is(err, ErrLocked) || !strings.Contains(err.Error(), dir) {
			t.Errorf("read only %t: %v", readOnly, err)
		}
	}
}

func TestReadingAMistakenPathLeavesNothingThere(t *testing.T) {
	empty := t.TempDir()
	for _, dir := range []string{empty, filepath.Join(empty, "missing")} {
		if _, err := Open(dir, Options{ReadOnly: true}); !errors.Is(err, ErrNoTraces) {
			t.Errorf("%s: %v", dir, err)
		}
	}
	if entries, err := os.ReadDir(empty); err != nil || len(entries) != 0 {
		t.Errorf("%v %v", entries, err)
	}
}

func TestAFullRingDropsAndCounts(t *testing.T) {
	gate := make(chan struct{})
	var once sync.Once
	s := open(t, t.TempDir(), Options{Ring: 4, FlushEvery: time.Millisecond, free: func(string) (uint64, error) {
		once.Do(func() { <-gate }) // the disk does not answer
		return 1 << 40, nil
	}})
	s.Put(record("first", noon, "default"))
	taken := 1
	for i := 0; s.Stats().Dropped["ring_full"] < 3; i++ {
		if s.Put(record(fmt.Sprint(i), noon+int64(i), "default")) {
			taken++
		}
	}
	close(gate)
	if err := s.Flush(context.Background()); err != nil {
		t.Fatal(err)
	}
	if st := s.Stats(); st.Stored != uint64(taken) || st.Dropped["ring_full"] != 3 {
		t.Errorf("%d taken in, %+v", taken, st)
	}
}

func TestNothingIsWrittenOnAFullDisk(t *testing.T) {
	var free atomic.Uint64
	free.Store(1000)
	s := open(t, t.TempDir(), Options{MinFree: 1000, free: func(string) (uint64, error) { return free.Load(), nil }})
	put(t, s, record("a", noon, "default"))
	free.Store(999)
	put(t, s, record("b", noon+1, "default"))
	if st := s.Stats(); !st.DiskFull || st.Dropped["disk_full"] != 1 || st.Stored != 1 {
		t.Errorf("%+v", st)
	}
	free.Store(1100) // above the limit, but not by enough
	put(t, s, record("c", noon+2, "default"))
	free.Store(1250)
	put(t, s, record("d", noon+3, "default"))
	if st := s.Stats(); st.DiskFull || st.Dropped["disk_full"] != 2 {
		t.Errorf("%+v", st)
	}
	wantIDs(t, s, Query{}, "a", "d")
}

func TestAnImpossibleRecordIsRefused(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	bad := record("bad", noon, "default")
	bad.Outcome = ""
	put(t, s, bad, record("good", noon, "default"))
	wantIDs(t, s, Query{}, "good")
	if n := s.Stats().Dropped["invalid"]; n != 1 {
		t.Errorf("%d invalid", n)
	}
}

func TestOldDaysAreForgotten(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, Options{})
	for i := range int64(6) {
		put(t, s, record(fmt.Sprint("d", i), noon-i*dayNS, "default"))
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, dayOf(noon-5*dayNS)+".bad-1"), 0o755); err != nil {
		t.Fatal(err)
	}
	s = open(t, dir, Options{Retain: 48 * time.Hour})
	wantIDs(t, s, Query{}, "d2", "d1", "d0")
	left, err := filepath.Glob(filepath.Join(dir, "2026-11-*"))
	if err != nil || len(left) != 2 { // the directory and the count of the 30th
		t.Errorf("%v %v", left, err)
	}
}

func TestManyDaysDoNotStayOpen(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	for i := range int64(5) {
		put(t, s, record(fmt.Sprint("d", i), noon-i*dayNS, "default"))
	}
	ids(t, s, Query{})
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.open) > maxIdle {
		t.Errorf("%d days are open", len(s.open))
	}
}

// A disk that is gone holds up whoever wants the day that is being closed, and nobody else.
func TestOtherDaysDoNotWaitForOneThatIsBeingClosed(t *testing.T) {
	var mu sync.Mutex
	closes, gate, oldest := map[*day]int{}, make(chan struct{}), dayOf(noon-dayNS)
	s := open(t, t.TempDir(), Options{closeDB: func(d *day) error {
		mu.Lock()
		closes[d]++
		mu.Unlock()
		if d.name == oldest {
			<-gate
		}
		return d.db.Close()
	}})
	var opened sync.Once
	letGo := func() { opened.Do(func() { close(gate) }) }
	defer letGo()
	put(t, s, record("old", noon-dayNS, "default"))
	for i := range int64(4) { // of more days than stay open
		put(t, s, record(fmt.Sprint("d", i), noon+i*dayNS, "default"))
		wantIDs(t, s, Query{From: noon}, []string{"d0", "d1", "d2", "d3"}[:i+1]...)
	}
	found := make(chan string, 1)
	go func() {
		_, err := s.Scan(context.Background(), Query{Limit: 1}, func(r *trace.Record) error {
			found <- r.ID
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}()
	put(t, s, record("d4", noon+3*dayNS+1, "default"))
	select {
	case got := <-found:
		t.Fatalf("record %s was read of a day that is being closed", got)
	case <-time.After(50 * time.Millisecond):
	}
	letGo()
	if got := <-found; got != "old" {
		t.Errorf("record %s, want old", got)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	for d, n := range closes {
		if n != 1 {
			t.Errorf("%s was closed %d times", d.name, n)
		}
	}
	if len(closes) < 6 { // five days, and the oldest one twice
		t.Errorf("%d days were closed", len(closes))
	}
}

func TestHammer(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, Options{Ring: 64, FlushEvery: time.Millisecond})
	var taken, tried atomic.Uint64
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for i := range 300 {
				tried.Add(1)
				if s.Put(record(fmt.Sprintf("%d-%d", g, i), noon+int64(i%3)*dayNS, "default")) {
					taken.Add(1)
				}
				if i%50 == 0 {
					s.Flush(context.Background())
				}
			}
		})
	}
	for range 2 {
		wg.Go(func() {
			for range 20 {
				if _, err := s.Scan(context.Background(), Query{Limit: 50, NewestFirst: true}, func(*trace.Record) error { return nil }); err != nil && !errors.Is(err, ErrClosed) {
					t.Error(err)
				}
			}
		})
	}
	wg.Go(func() {
		for tried.Load() < 800 {
			time.Sleep(time.Millisecond)
		}
		s.Close()
	})
	wg.Wait()
	st := s.Stats()
	if st.Stored != taken.Load() || st.Stored+st.Dropped["ring_full"]+st.Dropped["closed"] != 1200 {
		t.Errorf("%d taken in, %+v", taken.Load(), st)
	}
	if got, rep := ids(t, open(t, dir, Options{}), Query{}); uint64(len(got)) != st.Stored || len(rep.Damaged) > 0 {
		t.Errorf("%d found, %d stored, %+v", len(got), st.Stored, rep)
	}
}

// Somebody removes the folder under a server that runs: it ends all the same, and says what happened.
func TestAFolderThatIsGoneDoesNotKeepTheServerFromEnding(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "traces")
	s := open(t, dir, Options{closeWait: 100 * time.Millisecond})
	put(t, s, record("a", noon, "default"))
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err == nil || !strings.Contains(err.Error(), dir) {
		t.Errorf("closed with %v, want the folder's name", err)
	}
}
