package store

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/dgraph-io/badger/v4"
)

// filled is a closed directory with n records of one day.
func filled(t *testing.T, n int) string {
	t.Helper()
	dir := t.TempDir()
	s := open(t, dir, Options{})
	fill(t, s, n)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

func write(t *testing.T, path string, b []byte) {
	t.Helper()
	if err := os.WriteFile(path, b, 0o644); err != nil {
		t.Fatal(err)
	}
}

// damagedDay opens dir as a server does, which must work whatever happened, and returns what it says of the day.
func damagedDay(t *testing.T, dir string) (*Store, int, []Damage) {
	t.Helper()
	s := open(t, dir, Options{})
	got, rep := ids(t, s, Query{})
	put(t, s, record("after", noon, "default")) // it serves on
	return s, len(got), rep.Damaged
}

func TestALossThatBadgerDoesNotReportIsReported(t *testing.T) {
	dir := filled(t, 500)
	manifest := files(t, dir, "MANIFEST")[0]
	b, err := os.ReadFile(manifest)
	if err != nil {
		t.Fatal(err)
	}
	write(t, manifest, b[:len(b)-3])
	s, n, damage := damagedDay(t, dir)
	if n != 0 || len(damage) != 1 || damage[0].Want != 500 || damage[0].Have != 0 {
		t.Fatalf("%d records, %+v", n, damage)
	}
	// It stays on record after the day goes on.
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	_, rep := ids(t, open(t, dir, Options{}), Query{})
	if len(rep.Damaged) != 1 || rep.Damaged[0].Want != 501 || rep.Damaged[0].Have != 1 {
		t.Errorf("%+v", rep)
	}
}

func TestADayThatCannotBeOpenedIsSetAside(t *testing.T) {
	for name, harm := range map[string]func(t *testing.T, dir string){
		"manifest without content": func(t *testing.T, dir string) { write(t, files(t, dir, "MANIFEST")[0], nil) },
		"table missing": func(t *testing.T, dir string) {
			if err := os.Remove(files(t, dir, "*.sst")[0]); err != nil {
				t.Fatal(err)
			}
		},
		"two deaths while opening": func(t *testing.T, dir string) { write(t, filepath.Join(dir, dayOf(noon)+".opening"), []byte("2")) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := filled(t, 500)
			harm(t, dir)
			s, n, damage := damagedDay(t, dir)
			if n != 0 || len(damage) != 1 || damage[0].Want != 500 || s.Stats().Quarantined != 1 {
				t.Errorf("%d records, %+v, %+v", n, damage, s.Stats())
			}
			if aside, _ := filepath.Glob(filepath.Join(dir, dayOf(noon)+".bad-*")); len(aside) != 1 {
				t.Errorf("set aside: %v", aside)
			}
			if _, err := os.Stat(filepath.Join(dir, dayOf(noon)+".opening")); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("the marker is still there: %v", err)
			}
		})
	}
}

func TestReadingLeavesADamagedDayWhereItIs(t *testing.T) {
	dir := filled(t, 500)
	write(t, files(t, dir, "MANIFEST")[0], nil)
	_, rep := ids(t, open(t, dir, Options{ReadOnly: true}), Query{})
	if len(rep.Damaged) != 1 || rep.Damaged[0].Want != 500 || rep.Damaged[0].Err == nil {
		t.Errorf("%+v", rep)
	}
	if aside, _ := filepath.Glob(filepath.Join(dir, "*.bad-*")); len(aside) != 0 {
		t.Errorf("set aside: %v", aside)
	}
}

func TestOneDeathWhileOpeningIsForgiven(t *testing.T) {
	dir := filled(t, 50)
	write(t, filepath.Join(dir, dayOf(noon)+".opening"), []byte("1"))
	write(t, filepath.Join(dir, dayOf(noon), "00009.mem"), nil)
	write(t, filepath.Join(dir, dayOf(noon), "000009.vlog"), nil)
	if _, n, damage := damagedDay(t, dir); n != 50 || len(damage) != 0 {
		t.Errorf("%d records, %+v", n, damage)
	}
}

func TestANewerLayoutIsRefusedAndLeftAlone(t *testing.T) {
	dir := filled(t, 5)
	db, err := badger.Open(badgerOptions(filepath.Join(dir, dayOf(noon)), quiet))
	if err != nil {
		t.Fatal(err)
	}
	err = db.Update(func(txn *badger.Txn) error { return txn.Set(metaKey, meta{layout: 2, records: 5}.encode()) })
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir, Options{Log: quiet, now: at(noon)}); !errors.Is(err, ErrNewer) {
		t.Error(err)
	}
	if aside, _ := filepath.Glob(filepath.Join(dir, "*.bad-*")); len(aside) != 0 {
		t.Errorf("set aside: %v", aside)
	}
}

func TestAnUnreadableRecordIsCountedAndTheOthersAreRead(t *testing.T) {
	dir := filled(t, 5)
	db, err := badger.Open(badgerOptions(filepath.Join(dir, dayOf(noon)), quiet))
	if err != nil {
		t.Fatal(err)
	}
	err = db.Update(func(txn *badger.Txn) error { return txn.Set(recordKey(noon+2e9, 2, "default"), []byte("rubbish")) })
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	got, rep := ids(t, open(t, dir, Options{}), Query{})
	if len(got) != 4 || len(rep.Damaged) != 1 || rep.Damaged[0].Have != 4 || !errors.Is(rep.Damaged[0].Err, errValue) {
		t.Errorf("%v %+v", got, rep)
	}
}
