package measure

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func sample() Report {
	var r Report
	r.Costs.Step[0][0], r.Costs.Step[4][15], r.Costs.PrefillToken, r.Samples[0][0], r.Largest = 5_900_000, 290_000_000, 700_000, 3, 16
	return r
}

const setup = "CUDA0, a model, two threads"

func saved(t *testing.T) (Store, string, []byte) {
	t.Helper()
	s := Store{filepath.Join(t.TempDir(), "costs")}
	if err := s.Save(setup, sample()); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(s.Dir)
	if err != nil || len(entries) != 1 {
		t.Fatal(entries, err)
	}
	path := filepath.Join(s.Dir, entries[0].Name())
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return s, path, data
}

func TestKeptReportsComeBack(t *testing.T) {
	s, _, _ := saved(t)
	if r, err := s.Load(setup); err != nil || r != sample() {
		t.Errorf("%+v, %v", r, err)
	}
	other := sample()
	other.Costs.Copy = 7
	if err := s.Save(setup, other); err != nil {
		t.Fatal(err)
	}
	if r, err := s.Load(setup); err != nil || r != other {
		t.Errorf("after another one: %+v, %v", r, err)
	}
	if _, err := s.Load("another setup"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("of another setup: %v", err)
	}
}

// A file with any byte changed or cut off, or one of another setup under this name, is never taken.
func TestDamagedReportsAreNotTaken(t *testing.T) {
	s, path, good := saved(t)
	refuse := func(what string, data []byte) {
		t.Helper()
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		if r, err := s.Load(setup); err == nil && r != sample() {
			t.Errorf("%s: %+v", what, r)
		}
	}
	for i := range good {
		bad := append([]byte(nil), good...)
		bad[i] ^= 1
		refuse("a byte changed", bad)
		refuse("cut off", good[:i])
	}
	for _, text := range []string{"", "null", "{}", "[]", `{"format":1}`, `{"format":1,"setup":"` + setup + `","sha256":"","report":{}}`} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if r, err := s.Load(setup); err == nil {
			t.Errorf("%q: %+v", text, r)
		}
	}
	foreign := Store{t.TempDir()}
	if err := foreign.Save("another setup", sample()); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(foreign.path("another setup"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Load(setup); err == nil {
		t.Error("another setup's report is taken")
	}
	empty := sample()
	empty.Costs.Step[0][0] = 0
	if err := s.Save(setup, empty); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Load(setup); err == nil {
		t.Error("a report without a single step is taken")
	}
}

func TestAFolderThatCannotBeWritten(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := (Store{filepath.Join(file, "sub")}).Save(setup, sample()); err == nil {
		t.Error("it is saved")
	}
}
