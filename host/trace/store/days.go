package store

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// maxIdle is the number of days that stay open while nobody uses them: around midnight records of two days end.
const maxIdle = 2

func (s *Store) path(name string) string { return filepath.Join(s.dir, name) }

// acquire opens a day, or shares it where it is open. release must follow.
func (s *Store) acquire(name string) (*day, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.acquired++
	d := s.open[name]
	if d == nil {
		var err error
		if d, err = s.openDay(name); err != nil {
			return nil, err
		}
		s.open[name] = d
	}
	d.refs++
	d.used = s.acquired
	return d, nil
}

func (s *Store) release(d *day) {
	s.mu.Lock()
	defer s.mu.Unlock()
	d.refs--
	for {
		var idle []*day
		for _, x := range s.open {
			if x.refs == 0 {
				idle = append(idle, x)
			}
		}
		if len(idle) <= maxIdle {
			return
		}
		oldest := slices.MinFunc(idle, func(a, b *day) int { return cmp.Compare(a.used, b.used) })
		if err := s.closeDay(oldest); err != nil {
			s.opt.Log.Error("cannot close traces", "error", err)
		}
	}
}

// closeDay is called under mu, for a day that nobody uses. Badger tries for ever to write what it holds, also where the folder is gone,
// so it is left alone after a time: what it could not write is lost either way, and a server must end.
func (s *Store) closeDay(d *day) error {
	delete(s.open, d.name)
	if !s.opt.ReadOnly {
		s.writeCount(d.name, count{Records: d.meta.records, Lost: d.lost})
	}
	closed := make(chan error, 1)
	go func() { closed <- d.db.Close() }()
	late := time.NewTimer(s.opt.closeWait)
	defer late.Stop()
	select {
	case err := <-closed:
		if err != nil {
			return fmt.Errorf("close traces of %s: %w", d.name, err)
		}
		return nil
	case <-late.C:
		return fmt.Errorf("close traces of %s: not done after %v, its last records may be lost; is %s still there, and writable?", d.name, s.opt.closeWait, s.dir)
	}
}

// listDays lists the days that have a directory in dir, oldest first.
func listDays(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, e := range entries {
		if _, err := time.Parse(dayFormat, e.Name()); err == nil && e.IsDir() {
			out = append(out, e.Name())
		}
	}
	return out, nil
}

// forget removes days that are older than Retain, with what was set aside of them.
func (s *Store) forget() {
	if s.opt.Retain <= 0 {
		return
	}
	oldest := s.opt.now().Add(-s.opt.Retain).UTC().Format(dayFormat)
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		s.opt.Log.Error("cannot list traces", "error", err)
		return
	}
	for _, e := range entries {
		name, suffix, _ := strings.Cut(e.Name(), ".")
		if _, err := time.Parse(dayFormat, name); err != nil || name >= oldest {
			continue
		}
		old := e.Name()
		if suffix == "" {
			if old, err = s.takeAway(name); err != nil {
				s.opt.Log.Error("cannot remove old traces", "day", name, "error", err)
			}
		}
		if old == "" {
			continue // somebody reads it; the next round gets it
		}
		if err := os.RemoveAll(s.path(old)); err != nil {
			s.opt.Log.Error("cannot remove old traces", "name", old, "error", err)
		}
	}
}

// takeAway renames a day that nobody uses, so that nobody opens it while it is removed. It returns "" when it is in use.
func (s *Store) takeAway(name string) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if d := s.open[name]; d != nil {
		if d.refs > 0 {
			return "", nil
		}
		if err := s.closeDay(d); err != nil {
			return "", err
		}
	}
	to := name + ".removed"
	if err := os.Rename(s.path(name), s.path(to)); err != nil {
		return "", err
	}
	return to, nil
}
