package store

import (
	"strings"
	"testing"
)

// crashed is what a simulated crash panics with.
type crashed struct{ at string }

// dieAt runs a change and ends it at the nth place where a process can end. It reports whether it came that far.
func dieAt(t *testing.T, dir string, n int, change func(s *Store) Entry) (acked bool, at string) {
	t.Helper()
	armed := false
	s := open(t, dir, Options{MaxHistoryBytes: 600, KeepManifests: 2, crash: func(point string) {
		if armed {
			if n--; n < 0 {
				panic(crashed{point})
			}
		}
	}})
	armed = true
	defer func() {
		s.Close()
		if p := recover(); p != nil {
			at = p.(crashed).at
		}
	}()
	change(s)
	return true, ""
}

// Wherever the process ends, what is found afterwards is the set before the change or the one after it, whole, with one line
// of history.
func TestACrashAnywhereLeavesOldOrNew(t *testing.T) {
	points := map[string]bool{}
	for before := range 6 { // so that the history is rotated in some, and an old set goes
		for n := 0; ; n++ {
			dir := t.TempDir()
			s := open(t, dir, Options{MaxHistoryBytes: 600, KeepManifests: 2})
			for i := range before {
				push(t, s, i)
			}
			s.Close()
			acked, at := dieAt(t, dir, n, func(s *Store) Entry { return push(t, s, before) })
			points[at] = true
			s = open(t, dir, Options{MaxHistoryBytes: 600, KeepManifests: 2})
			got, rev := inForce(t, s, before), s.Revision()
			if got != before-1 && got != before || acked && got != before || rev != uint64(got+1) {
				t.Fatalf("ended at %q (%d) after %d changes: module %d of revision %d is in force", at, n, before, got, rev)
			}
			for _, name := range files(t, dir) {
				if strings.Contains(name, tmpPrefix) {
					t.Errorf("ended at %q: %s is left", at, name)
				}
			}
			if len(s.Warnings()) > 0 {
				t.Errorf("ended at %q: %v", at, s.Warnings())
			}
			push(t, s, before+1)
			entries := linear(t, s)
			if entries[0].Revision != rev+1 {
				t.Errorf("ended at %q: the next change is revision %d", at, entries[0].Revision)
			}
			s.Close()
			if acked {
				break
			}
		}
	}
	for _, want := range []string{"create", "write", "sync", "rename", "sync folder", "append", "sync history", "rotate", "new history"} {
		if !points[want] {
			t.Errorf("no crash at %q", want)
		}
	}
}
