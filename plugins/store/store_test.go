package store

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestWhatIsCommittedOutlivesTheProcess(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, Options{})
	if _, ok := s.Manifest(); ok || s.Revision() != 0 || len(s.Warnings()) > 0 {
		t.Fatalf("a new store is not empty: revision %d, %v", s.Revision(), s.Warnings())
	}
	push(t, s, 0)
	want := push(t, s, 1)
	if want.Seq != 2 || want.Revision != 2 {
		t.Fatalf("second entry: %+v", want)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, dir, Options{})
	if got := inForce(t, s, 1); got != 1 {
		t.Errorf("module %d is in force", got)
	}
	entries := linear(t, s)
	if len(entries) != 2 || entries[0].Who != "ada" || entries[0].Op != OpPush || !entries[0].At.Equal(noon) {
		t.Errorf("history: %+v", entries)
	}
	m, _ := s.Manifest()
	if m.Change.Seq != 2 || m.Policies[0].Config["k"] != "v" || len(s.Warnings()) > 0 {
		t.Errorf("manifest %+v, warnings %v", m, s.Warnings())
	}
}

// A refusal, and a change that leaves the set as it is, are in the history alone.
func TestEntriesWithoutASet(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, Options{})
	push(t, s, 0)
	refused, err := s.Commit(nil, Entry{Op: OpPush, Name: "p", Refused: "not a module"})
	if err != nil || refused.Revision != 1 || refused.Seq != 2 {
		t.Fatalf("%+v, %v", refused, err)
	}
	noted, err := s.Commit(nil, Entry{Op: OpProbing, Name: "p"})
	if err != nil || noted.Revision != 2 || noted.Seq != 3 {
		t.Fatalf("%+v, %v", noted, err)
	}
	s.Close()
	s = open(t, dir, Options{})
	if s.Revision() != 2 || inForce(t, s, 0) != 0 {
		t.Errorf("revision %d", s.Revision())
	}
	linear(t, s)
	if e := push(t, s, 1); e.Revision != 3 || e.Seq != 4 {
		t.Errorf("%+v", e)
	}
	linear(t, s)
}

func TestHistoryInPages(t *testing.T) {
	for name, s := range map[string]interface {
		Commit(*Manifest, Entry) (Entry, error)
		History(int, uint64) ([]Entry, error)
	}{"disk": open(t, t.TempDir(), Options{}), "memory": NewMemory()} {
		for range 5 {
			if _, err := s.Commit(nil, Entry{Op: OpProbing}); err != nil {
				t.Fatal(err)
			}
		}
		for _, c := range []struct {
			limit  int
			before uint64
			want   []uint64
		}{{2, 0, []uint64{5, 4}}, {2, 4, []uint64{3, 2}}, {9, 2, []uint64{1}}, {9, 1, nil}} {
			entries, err := s.History(c.limit, c.before)
			if err != nil || len(entries) != len(c.want) {
				t.Fatalf("%s: %d before %d: %+v, %v", name, c.limit, c.before, entries, err)
			}
			for i, e := range entries {
				if e.Seq != c.want[i] {
					t.Errorf("%s: %d before %d: %+v", name, c.limit, c.before, entries)
				}
			}
		}
	}
}

// What has just left can be had again by its digest.
func TestAModuleThatLeftStaysForAWhile(t *testing.T) {
	for name, s := range map[string]interface {
		Put([]byte) (string, error)
		Get(string) ([]byte, error)
		Commit(*Manifest, Entry) (Entry, error)
	}{"disk": open(t, t.TempDir(), Options{KeepManifests: 1}), "memory": NewMemory()} {
		old, err := s.Put(module(1))
		if err == nil {
			_, err = s.Commit(set(old), Entry{Op: OpConfigure})
		}
		for range 3 {
			if err == nil {
				_, err = s.Commit(&Manifest{}, Entry{Op: OpRemove, Left: &Left{Digest: old}})
			}
		}
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if _, err := s.Get(old); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestASecondProcessIsRefused(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, Options{})
	_, err := Open(dir, Options{})
	if !errors.Is(err, ErrLocked) || !strings.Contains(err.Error(), dir) || !strings.Contains(err.Error(), "name another folder") {
		t.Errorf("got %v", err)
	}
	s.Close()
	open(t, dir, Options{})
}

func TestAFolderThatCannotBeMade(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(filepath.Join(file, "policies"), Options{}); err == nil || !strings.Contains(err.Error(), "make policy store") {
		t.Errorf("got %v", err)
	}
}

func TestOldHistoryMakesRoom(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, Options{MaxHistoryBytes: 2000})
	for range 100 {
		if _, err := s.Commit(nil, Entry{Op: OpProbing, Name: "p", At: noon}); err != nil {
			t.Fatal(err)
		}
	}
	s.Close()
	for _, name := range []string{historyName, historyOld} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Size() > 2000 || info.Size() < 100 {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
	s = open(t, dir, Options{})
	if entries := linear(t, s); len(entries) < 10 || len(entries) > 60 || entries[0].Seq != 100 {
		t.Errorf("%d entries, the last is %+v", len(entries), entries[0])
	}
}

func TestModulesThatNothingNamesGo(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, Options{KeepManifests: 2})
	stray, err := s.Put([]byte("pushed, and refused after that"))
	if err != nil {
		t.Fatal(err)
	}
	push(t, s, 0)
	if _, err := s.Get(stray); !errors.Is(err, ErrMissing) {
		t.Errorf("a module of no set is still there: %v", err)
	}
	for n := range recentEntries + 10 {
		push(t, s, n)
	}
	if n, bytes := s.Modules(); n != recentEntries || bytes < int64(n*500) {
		t.Errorf("%d modules of %d bytes; the last %d entries name one each", n, bytes, recentEntries)
	}
	if n := len(s.Kept()); n != 3 {
		t.Errorf("%d sets are kept", n)
	}
	s.Close()
	s = open(t, dir, Options{KeepManifests: 2})
	if n, _ := s.Modules(); n != recentEntries {
		t.Errorf("%d modules after a restart", n)
	}
}

func TestLimitsAreNamed(t *testing.T) {
	s := open(t, t.TempDir(), Options{MaxModules: 2})
	push(t, s, 0)
	push(t, s, 1)
	if _, err := s.Put(module(2)); !errors.Is(err, ErrFull) || !strings.Contains(err.Error(), "holds 2 modules, and 2 are allowed") {
		t.Errorf("got %v", err)
	}
	if _, err := s.Put(module(1)); err != nil {
		t.Errorf("what is there already: %v", err)
	}
	s = open(t, t.TempDir(), Options{MaxModuleBytes: int64(len(module(0))) + 10})
	if _, err := s.Put(module(0)); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Put(module(1)); err != nil {
		t.Errorf("a module that nothing names does not make room: %v", err)
	}
	if _, err := s.Commit(set(digestOf(module(1))), Entry{Op: OpPush}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Put(module(2)); !errors.Is(err, ErrFull) || !strings.Contains(err.Error(), "bytes") {
		t.Errorf("got %v", err)
	}
}

func TestAClosedStoreSaysSo(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	if err := errors.Join(s.Close(), s.Close()); err != nil {
		t.Fatal(err)
	}
	_, put := s.Put(module(0))
	_, get := s.Get(digestOf(module(0)))
	_, commit := s.Commit(nil, Entry{Op: OpPush})
	_, history := s.History(1, 0)
	for _, err := range []error{put, get, commit, history} {
		if !errors.Is(err, ErrClosed) {
			t.Errorf("got %v", err)
		}
	}
}

// Without the right to write, a change fails and the set stays.
func TestACommitThatFailsChangesNothing(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, Options{})
	push(t, s, 0)
	away := filepath.Join(dir, "away")
	if err := os.Rename(s.manifests, away); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Commit(set(digestOf(module(0))), Entry{Op: OpDisable, Name: "p"}); err == nil {
		t.Fatal("a set was written to a folder that is gone")
	}
	if err := os.Rename(away, s.manifests); err != nil {
		t.Fatal(err)
	}
	if s.Revision() != 1 || len(linear(t, s)) != 1 {
		t.Errorf("revision %d", s.Revision())
	}
	if e := push(t, s, 1); e.Revision != 2 || e.Seq != 2 {
		t.Errorf("%+v", e)
	}
}
