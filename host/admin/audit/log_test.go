package audit

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

func lines(t *testing.T, path string) []Entry {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var all []Entry
	for s := bufio.NewScanner(f); s.Scan(); {
		var e Entry
		if err := json.Unmarshal(s.Bytes(), &e); err != nil {
			t.Fatalf("%s: %v in %s", path, err, s.Text())
		}
		all = append(all, e)
	}
	return all
}

func TestEntriesSurviveAReopening(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	want := Entry{
		Time: time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC), Request: "id", Who: "uid:7", Method: "PUT", Path: "/v1/policies/a",
		Policy: "a", Digest: "d", Why: "a\nline", Status: 422, Code: "policy_refused",
	}
	for range 2 {
		l, err := Open(path, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := l.Write(want); err != nil {
			t.Fatal(err)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		if err := l.Write(want); !errors.Is(err, os.ErrClosed) {
			t.Errorf("write after close: %v", err)
		}
	}
	if got := lines(t, path); len(got) != 2 || got[0] != want || got[1] != want {
		t.Errorf("read back %+v", got)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v: others can read it", info.Mode(), err)
	}
}

// The files stay within their bound, together they hold the newest entries in order, and the oldest file goes.
func TestRotation(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "audit.jsonl")
	l, err := Open(path, Options{MaxBytes: 1000, Keep: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	const n = 100
	for i := range n {
		if err := l.Write(Entry{Path: fmt.Sprint(i)}); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	for _, name := range []string{path + ".2", path + ".1", path} {
		if info, err := os.Stat(name); err != nil || info.Size() > 1000 {
			t.Errorf("%s: %v, %v", name, info, err)
		}
		for _, e := range lines(t, name) {
			got = append(got, e.Path)
		}
	}
	for i, p := range got {
		if want := fmt.Sprint(n - len(got) + i); p != want {
			t.Fatalf("entry %d is %s, want %s", i, p, want)
		}
	}
	if files, _ := os.ReadDir(dir); len(files) != 3 || len(got) < 10 {
		t.Errorf("%d files with %d entries", len(files), len(got))
	}
}

func TestAnEntryAboveTheBoundIsWrittenWhole(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	l, err := Open(path, Options{MaxBytes: 10})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if err := l.Write(Entry{Why: strings.Repeat("x", 100)}); err != nil {
		t.Fatal(err)
	}
	if got := lines(t, path); len(got) != 1 || len(got[0].Why) != 100 {
		t.Errorf("%+v", got)
	}
}

func TestLogHammer(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	l, err := Open(path, Options{MaxBytes: 4000, Keep: 100})
	if err != nil {
		t.Fatal(err)
	}
	const workers, each = 4, 50
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for i := range each {
				if err := l.Write(Entry{Path: fmt.Sprint(w, i)}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	l.Close()
	files, _ := filepath.Glob(path + "*")
	seen := map[string]bool{}
	for _, f := range files {
		for _, e := range lines(t, f) {
			seen[e.Path] = true
		}
	}
	if len(seen) != workers*each {
		t.Errorf("%d entries of %d", len(seen), workers*each)
	}
}

func TestOpenSaysWhatIsWrong(t *testing.T) {
	if _, err := Open(filepath.Join(t.TempDir(), "none", "audit.jsonl"), Options{}); err == nil || !strings.Contains(err.Error(), "open audit log") {
		t.Errorf("%v", err)
	}
}
