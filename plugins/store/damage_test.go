package store

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestADamagedModuleIsNeverServed(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, Options{})
	e := push(t, s, 0)
	path := s.modulePath(e.Digest)
	damage(t, path)
	_, err := s.Get(e.Digest)
	if !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "push the module again") {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat(path + damagedSuffix); err != nil {
		t.Error(err)
	}
	if _, err := s.Get(e.Digest); !errors.Is(err, ErrMissing) {
		t.Errorf("got %v", err)
	}
	push(t, s, 0)
	if got := inForce(t, s, 0); got != 0 {
		t.Errorf("module %d", got)
	}
}

// endless puts a device that can be read for ever in a file's place.
func endless(t *testing.T, path string) {
	t.Helper()
	if err := errors.Join(os.Remove(path), os.Symlink("/dev/zero", path)); err != nil {
		t.Skip(err)
	}
}

// Whatever has taken a module's place is not read beyond what a module may have.
func TestWhatIsNoModuleIsNotRead(t *testing.T) {
	for name, spoil := range map[string]func(t *testing.T, path string){
		"an endless device": endless,
		"a folder": func(t *testing.T, path string) {
			if err := errors.Join(os.Remove(path), os.Mkdir(path, 0o700)); err != nil {
				t.Fatal(err)
			}
		},
		"too large": func(t *testing.T, path string) {
			if err := os.Truncate(path, 1<<40); err != nil { // a hole
				t.Skip(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t, t.TempDir(), Options{})
			e := push(t, s, 0)
			spoil(t, s.modulePath(e.Digest))
			if _, err := s.Get(e.Digest); !errors.Is(err, ErrDamaged) {
				t.Errorf("got %v", err)
			}
			if _, err := s.Put(module(0)); err != nil {
				t.Error(err)
			}
			if _, err := s.Get(e.Digest); err != nil {
				t.Error(err)
			}
		})
	}
}

// A folder of sets that is gone is not the same as one that never was.
func TestALostFolderOfSetsIsSaid(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, Options{})
	push(t, s, 0)
	s.Close()
	if err := os.RemoveAll(s.manifests); err != nil {
		t.Fatal(err)
	}
	s = open(t, dir, Options{})
	if w := strings.Join(s.Warnings(), "\n"); !s.FellBack() || !strings.Contains(w, "revision 1") {
		t.Errorf("warnings %q", w)
	}
	if e := push(t, s, 1); e.Revision != 2 {
		t.Errorf("%+v", e)
	}
	s.Close()
	if s = open(t, dir, Options{}); len(s.Warnings()) > 0 || inForce(t, s, 1) != 1 {
		t.Errorf("then %q", s.Warnings())
	}
}

func TestPutRepairsADamagedModule(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	e := push(t, s, 0)
	damage(t, s.modulePath(e.Digest))
	if _, err := s.Put(module(0)); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Get(e.Digest); err != nil {
		t.Error(err)
	}
	if n, bytes := s.Modules(); n != 1 || bytes != int64(len(module(0))) {
		t.Errorf("%d modules of %d bytes", n, bytes)
	}
}

// Every way to damage the newest set leads to the one before it, with a warning, and the next change comes after both.
func TestADamagedSetGivesWayToTheOneBefore(t *testing.T) {
	for name, spoil := range map[string]func(t *testing.T, path string){
		"a byte":  func(t *testing.T, path string) { damage(t, path) },
		"cut off": func(t *testing.T, path string) { _ = os.Truncate(path, 40) },
		"empty":   func(t *testing.T, path string) { _ = os.Truncate(path, 0) },
		"another": func(t *testing.T, path string) {
			_ = os.WriteFile(path, []byte(`{"format":1,"sha256":"","manifest":{}}`), 0o600)
		},
		"a folder": func(t *testing.T, path string) {
			_ = os.Remove(path)
			_ = os.Mkdir(path, 0o700)
		},
		"an endless device": func(t *testing.T, path string) { endless(t, path) },
		"no JSON":           func(t *testing.T, path string) { _ = os.WriteFile(path, []byte("revision 2"), 0o600) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			s := open(t, dir, Options{})
			push(t, s, 0)
			push(t, s, 1)
			s.Close()
			path := filepath.Join(s.manifests, manifestName(2))
			spoil(t, path)
			s = open(t, dir, Options{})
			if got := inForce(t, s, 1); got != 0 || !s.FellBack() || s.Revision() != 2 {
				t.Errorf("module %d at revision %d", got, s.Revision())
			}
			warned(t, s, path, "renamed", "revision 1 is used instead")
			if _, err := os.Stat(path + damagedSuffix); err != nil {
				t.Error(err)
			}
			if e := push(t, s, 1); e.Revision != 3 || e.Seq != 3 {
				t.Errorf("the next change: %+v", e)
			}
			linear(t, s)
			s.Close()
			s = open(t, dir, Options{})
			if s.FellBack() || len(s.Warnings()) > 0 || inForce(t, s, 1) != 1 {
				t.Errorf("after that: %v", s.Warnings())
			}
		})
	}
}

func TestNoSetIsWhole(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, Options{})
	push(t, s, 0)
	s.Close()
	damage(t, filepath.Join(s.manifests, manifestName(1)))
	s = open(t, dir, Options{})
	if _, ok := s.Manifest(); ok || !s.FellBack() {
		t.Error("there is a set")
	}
	warned(t, s, "no set of policies")
	if e := push(t, s, 0); e.Revision != 2 {
		t.Errorf("%+v", e)
	}
}

func TestAStoreOfANewerVersionIsLeftAlone(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, Options{})
	push(t, s, 0)
	s.Close()
	path := filepath.Join(s.manifests, manifestName(2))
	if err := os.WriteFile(path, []byte(`{"format":2,"sha256":"","manifest":{}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Open(dir, Options{})
	if !errors.Is(err, ErrNewer) || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "format 2") {
		t.Errorf("got %v", err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	open(t, dir, Options{}) // the lock was given back
}

func TestATornLineOfHistoryIsCutOff(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, Options{})
	push(t, s, 0)
	push(t, s, 1)
	s.Close()
	path := filepath.Join(dir, historyName)
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	f.WriteString(`{"seq":3,"revision":3,"who":"nobo`)
	f.Close()
	s = open(t, dir, Options{})
	warned(t, s, path, "33 bytes")
	push(t, s, 0)
	if entries := linear(t, s); len(entries) != 3 {
		t.Errorf("%d entries", len(entries))
	}
}

func TestADamagedLineOfHistoryIsLeftOut(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, Options{})
	for n := range 3 {
		push(t, s, n)
	}
	s.Close()
	path := filepath.Join(dir, historyName)
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(b), "\n")
	lines[1] = "{" + lines[1]
	if err := os.WriteFile(path, []byte(strings.Join(lines, "")), 0o600); err != nil {
		t.Fatal(err)
	}
	s = open(t, dir, Options{})
	warned(t, s, "1 lines are damaged")
	entries, err := s.History(10, 0)
	if err != nil || len(entries) != 2 || entries[0].Seq != 3 || entries[1].Seq != 1 {
		t.Errorf("%+v, %v", entries, err)
	}
}

// The sets themselves hold the entries that a lost history had last.
func TestALostHistoryIsWrittenAnew(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, Options{})
	for n := range 3 {
		push(t, s, n)
	}
	s.Close()
	if err := os.Remove(filepath.Join(dir, historyName)); err != nil {
		t.Fatal(err)
	}
	s = open(t, dir, Options{})
	if entries := linear(t, s); len(entries) != 3 || entries[2].Seq != 1 {
		t.Errorf("%+v", entries)
	}
}
