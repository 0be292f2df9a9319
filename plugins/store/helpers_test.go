package store

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var noon = time.Date(2026, 12, 2, 12, 0, 0, 0, time.UTC)

func open(t testing.TB, dir string, opt Options) *Store {
	t.Helper()
	s, err := Open(dir, opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// module is some bytes, a different lot for each n.
func module(n int) []byte { return []byte(strings.Repeat(fmt.Sprintf("module %d\n", n), 500)) }

// set is a set of one policy.
func set(digest string) *Manifest {
	return &Manifest{Policies: []Policy{{Name: "p", Version: Version{Digest: digest, Config: map[string]string{"k": "v"}}}}}
}

// push stores module n and makes it the set.
func push(t testing.TB, s *Store, n int) Entry {
	t.Helper()
	digest, err := s.Put(module(n))
	if err != nil {
		t.Fatal(err)
	}
	e, err := s.Commit(set(digest), Entry{Op: OpPush, Name: "p", Digest: digest, Who: "ada", At: noon})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// inForce is the number of the module of the set in force; its bytes must be whole.
func inForce(t testing.TB, s *Store, upTo int) int {
	t.Helper()
	m, ok := s.Manifest()
	if !ok {
		return -1
	}
	wasm, err := s.Get(m.Policies[0].Digest)
	if err != nil {
		t.Fatalf("the module of revision %d: %v", m.Revision, err)
	}
	for n := range upTo + 1 {
		if string(wasm) == string(module(n)) {
			return n
		}
	}
	t.Fatalf("the module in force is none that was stored")
	return -1
}

// linear fails unless the history is one line of changes and refusals, without a gap, up to the store's revision.
func linear(t testing.TB, s *Store) []Entry {
	t.Helper()
	entries, err := s.History(1<<20, 0)
	if err != nil {
		t.Fatal(err)
	}
	for i, e := range entries[:max(0, len(entries)-1)] {
		before := entries[i+1]
		step := uint64(1)
		if e.Refused != "" {
			step = 0
		}
		if e.Seq != before.Seq+1 || e.Revision != before.Revision+step {
			t.Fatalf("entry %d of revision %d follows entry %d of revision %d", e.Seq, e.Revision, before.Seq, before.Revision)
		}
	}
	if len(entries) > 0 && entries[0].Revision != s.Revision() {
		t.Fatalf("the history ends at revision %d, the store is at %d", entries[0].Revision, s.Revision())
	}
	return entries
}

// files lists a store's files, by their path in it.
func files(t testing.TB, dir string) (names []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() && d.Name() != "LOCK" {
			rel, _ := filepath.Rel(dir, path)
			names = append(names, rel)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// damage changes one byte in the middle of a file.
func damage(t testing.TB, path string) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	b[len(b)/2] ^= 0x10
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

func warned(t testing.TB, s *Store, words ...string) {
	t.Helper()
	text := strings.Join(s.Warnings(), "\n")
	for _, w := range words {
		if !strings.Contains(text, w) {
			t.Errorf("no warning says %q:\n%s", w, text)
		}
	}
}
