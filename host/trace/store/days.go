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

// acquire opens a day, or shares it where it is open. While that day is being closed it waits. release must follow.
func (s *Store) acquire(name string) (*day, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.leaving[name] {
		s.left.Wait()
	}
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

// release gives a day back, and closes those that have been idle for longest if there are too many.
func (s *Store) release(d *day) { s.closeIdle(s.giveBack(d)) }

// releaseSoon is release for the writer, which does not wait while what was idle is closed: that can take as long as Options.closeWait.
func (s *Store) releaseSoon(d *day) {
	if idle := s.giveBack(d); len(idle) > 0 {
		s.closings.Go(func() { s.closeIdle(idle) })
	}
}

// giveBack ends a use of a day, and takes out the days that are to be closed.
func (s *Store) giveBack(d *day) (out []*day) {
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
			return out
		}
		oldest := slices.MinFunc(idle, func(a, b *day) int { return cmp.Compare(a.used, b.used) })
		s.takeOut(oldest)
		out = append(out, oldest)
	}
}

func (s *Store) closeIdle(days []*day) {
	for _, d := range days {
		if err := s.closeDay(d); err != nil {
			s.opt.Log.Error("cannot close traces", "error", err)
		}
		s.gone(d.name)
	}
}

// takeOut makes a day that nobody uses the caller's, to be closed without mu; until gone nobody opens it. It is called under mu.
func (s *Store) takeOut(d *day) {
	delete(s.open, d.name)
	s.leaving[d.name] = true
}

// gone lets a day be opened again.
func (s *Store) gone(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.leaving, name)
	s.left.Broadcast()
}

// closeDay closes a day that was taken out. Badger tries for ever to write what it holds, also where the folder is gone, so it is left
// alone after a time: what it could not write is lost either way, and a server must end.
func (s *Store) closeDay(d *day) error {
	if !s.opt.ReadOnly {
		s.writeCount(d.name, count{Records: d.meta.records, Lost: d.lost})
	}
	closed := make(chan error, 1)
	go func() { closed <- s.opt.closeDB(d) }()
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
	d, ok := s.reserve(name)
	if !ok {
		return "", nil
	}
	defer s.gone(name)
	if d != nil {
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

// reserve keeps others from opening a day until gone, unless it is in use. The day is nil where it was not open.
func (s *Store) reserve(name string) (d *day, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	d = s.open[name]
	if s.leaving[name] || d != nil && d.refs > 0 {
		return nil, false
	}
	if d != nil {
		s.takeOut(d)
	} else {
		s.leaving[name] = true
	}
	return d, true
}
