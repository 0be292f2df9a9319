package store

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/dgraph-io/badger/v4"
)

// dayFormat names a day's directory, in UTC.
const dayFormat = "2006-01-02"

func dayOf(unixNS int64) string { return time.Unix(0, unixNS).UTC().Format(dayFormat) }

// day is one day's database.
type day struct {
	name string
	db   *badger.DB
	meta meta
	lost uint64 // records that were here once, by the count beside the database
	refs int
	used uint64 // when it was last acquired, in acquisitions

	counted time.Time // when the count was last written
}

// strikes is the number of times in a row that the process may end while it opens a day. Then the day is set aside: a
// damaged table ends the process inside Badger, beyond recover. One death alone may have been a kill.
const strikes = 2

// openDay opens a day's database behind the guards: a marker while Badger opens, the zero-length files of a crash
// removed, and what cannot be opened set aside so that a new database takes its place.
func (s *Store) openDay(name string) (*day, error) {
	dir, marker := s.path(name), s.path(name+".opening")
	n := readStrikes(marker)
	if n >= strikes {
		if err := s.setAside(name, fmt.Errorf("the process ended %d times while it was opened", n)); err != nil {
			return nil, err
		}
		n = 0
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("make trace directory: %w", err)
	}
	if err := os.WriteFile(marker, []byte(strconv.Itoa(n+1)), 0o644); err != nil {
		return nil, fmt.Errorf("mark the opening of traces: %w", err)
	}
	d, err := s.openChecked(name)
	if err != nil && damaged(err) {
		if err = s.setAside(name, err); err == nil {
			d, err = s.openChecked(name)
		}
	}
	if removed := os.Remove(marker); err == nil && removed != nil {
		s.opt.Log.Warn("cannot remove the marker of an opening", "file", marker, "error", removed)
	}
	if err != nil {
		return nil, fmt.Errorf("open traces of %s: %w", name, err)
	}
	return d, nil
}

func readStrikes(marker string) int {
	b, err := os.ReadFile(marker)
	if err != nil {
		return 0
	}
	n, _ := strconv.Atoi(strings.TrimSpace(string(b)))
	return max(n, 1)
}

// openChecked opens the database, checks its layout, and sets its count against the one beside it.
func (s *Store) openChecked(name string) (*day, error) {
	db, err := s.openBadger(s.path(name))
	if err != nil {
		return nil, err
	}
	d := &day{name: name, db: db, meta: meta{layout: layoutVersion}, counted: s.opt.now()}
	if err := d.readMeta(); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	side := s.readCount(name)
	d.lost = side.Lost
	if side.Records > d.meta.records {
		d.lost += side.Records - d.meta.records
		s.opt.Log.Error("traces are missing", "day", name, "have", d.meta.records, "lost", d.lost)
	}
	return d, nil
}

func (d *day) readMeta() error {
	return d.db.View(func(txn *badger.Txn) error {
		item, err := txn.Get(metaKey)
		if errors.Is(err, badger.ErrKeyNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		return item.Value(func(b []byte) error {
			m, err := decodeMeta(b)
			if err != nil {
				return err
			}
			if m.layout > layoutVersion {
				return fmt.Errorf("%w: layout %d, this one reads up to %d", ErrNewer, m.layout, layoutVersion)
			}
			d.meta = m
			return nil
		})
	})
}

// openBadger opens a directory, once more where Badger stumbles over a file that a crash left without content.
func (s *Store) openBadger(dir string) (*badger.DB, error) {
	if err := removeEmptyLogs(dir); err != nil {
		return nil, err
	}
	db, err := badger.Open(badgerOptions(dir, s.opt.Log))
	if err != nil && strings.Contains(err.Error(), "Create a new file") {
		db, err = badger.Open(badgerOptions(dir, s.opt.Log))
	}
	return db, err
}

// removeEmptyLogs deletes the files that a crash between their creation and their first byte leaves.
func removeEmptyLogs(dir string) error {
	for _, pattern := range []string{"*.mem", "*.vlog"} {
		files, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			return err
		}
		for _, f := range files {
			if info, err := os.Stat(f); err == nil && info.Size() == 0 {
				if err := os.Remove(f); err != nil {
					return fmt.Errorf("remove an empty log: %w", err)
				}
			}
		}
	}
	return nil
}

// damaged tells whether an error of opening speaks of the files' content. Badger hands on errors as text.
func damaged(err error) bool {
	if errors.Is(err, ErrNewer) {
		return false
	}
	for _, circumstance := range []string{
		"Cannot acquire directory lock", "permission denied", "operation not permitted", "no space left",
		"read-only file system", "too many open files", "cannot allocate memory", "disk quota",
	} {
		if strings.Contains(err.Error(), circumstance) {
			return false
		}
	}
	return true
}

// setAside renames a day that cannot be opened. Reading alone never does that: it has no need to.
func (s *Store) setAside(name string, cause error) error {
	if s.opt.ReadOnly {
		return fmt.Errorf("damaged: %w", cause)
	}
	to := fmt.Sprintf("%s.bad-%d", name, s.opt.now().UnixNano())
	if err := os.Rename(s.path(name), s.path(to)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("set damaged traces aside: %w", err)
	}
	side := s.readCount(name)
	s.writeCount(name, count{Lost: side.Lost + side.Records})
	s.quarantined.Add(1)
	s.opt.Log.Error("traces were damaged and are set aside", "day", name, "directory", s.path(to), "records", side.Records, "cause", cause)
	if err := os.MkdirAll(s.path(name), 0o755); err != nil {
		return fmt.Errorf("make trace directory: %w", err)
	}
	return nil
}
