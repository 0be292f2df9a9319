package store

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/gofrs/flock"
)

// Store is an open store. Its methods may be called from any goroutine.
type Store struct {
	dir, modules, manifests string
	opt                     Options
	lock                    *flock.Flock
	warnings                []string
	fellBack                bool

	mu       sync.Mutex       // guards what follows; held while files are written
	sizes    map[string]int64 // of the modules, by digest
	bytes    int64            // of all of them
	kept     []*Manifest      // oldest first
	seq      uint64           // of the newest entry
	revision uint64
	recent   []Entry // the last of the history, oldest first

	history     *os.File
	historySize int64  // up to the end of the last line that is durable
	written     uint64 // Seq of that line; newer entries are in manifests alone
	closed      bool
}

// Open opens or makes the store in dir. ErrLocked and ErrNewer are for errors.Is. What was damaged, and could be made good, is
// in Warnings.
func Open(dir string, opt Options) (*Store, error) {
	s := &Store{
		dir: dir, modules: filepath.Join(dir, "modules"), manifests: filepath.Join(dir, "manifests"),
		opt: opt.withDefaults(), sizes: map[string]int64{}, lock: flock.New(filepath.Join(dir, "LOCK")),
	}
	for _, d := range []string{s.modules, s.manifests} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			return nil, fmt.Errorf("make policy store: %w", err)
		}
	}
	ok, err := s.lock.TryLock()
	if err != nil {
		return nil, fmt.Errorf("lock policy store %s: %w", dir, err)
	}
	if !ok {
		return nil, fmt.Errorf("policy store %s is %w: stop that process, or name another folder", dir, ErrLocked)
	}
	for _, open := range []func() error{s.openModules, s.openManifests, s.openHistory, s.missedSet, s.catchUp} {
		if err := open(); err != nil {
			return nil, errors.Join(fmt.Errorf("open policy store %s: %w", dir, err), s.release())
		}
	}
	s.prune()
	s.collect()
	return s, nil
}

// catchUp writes the newest change into the history, if the process ended between the two.
func (s *Store) catchUp() error {
	m, ok := s.current()
	if !ok || m.Change.Seq <= s.written {
		return nil
	}
	return s.appendHistory(m.Change)
}

func (s *Store) warn(format string, args ...any) {
	s.warnings = append(s.warnings, fmt.Sprintf(format, args...))
}

func (s *Store) warnSwept(n int, dir string) {
	if n > 0 {
		s.opt.Log.Info("removed unfinished files of the policy store", "folder", dir, "files", n)
	}
}

// Warnings says what Open found damaged, one line each.
func (s *Store) Warnings() []string { return s.warnings }

// FellBack reports whether the newest set was damaged, so that Manifest was an older one at Open.
func (s *Store) FellBack() bool { return s.fellBack }

// Revision is that of the newest change.
func (s *Store) Revision() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.revision
}

// Commit makes a change durable and returns its entry, with the Seq and the Revision that are the next. m is the set after it,
// nil where it is as before; it becomes the store's. The modules that m names must have been Put. An error means that
// nothing was changed.
func (s *Store) Commit(m *Manifest, e Entry) (Entry, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return e, ErrClosed
	}
	e.Seq, e.Revision = s.seq+1, s.revision
	if e.Refused == "" {
		e.Revision++
	}
	if m == nil {
		if err := s.appendHistory(e); err != nil {
			return e, err
		}
		return e, nil
	}
	m.Revision, m.Change = e.Revision, e
	if err := m.check(); err != nil {
		return e, fmt.Errorf("write manifest: %w", err)
	}
	if err := s.writeManifest(m); err != nil {
		return e, err
	}
	s.seq, s.revision = e.Seq, e.Revision // it is durable from here on, whatever becomes of the history's line
	if err := s.appendHistory(e); err != nil {
		s.opt.Log.Warn("the history of policies is behind: it is written with the next change", "error", err)
	}
	s.prune()
	s.collect()
	return e, nil
}

// Close releases the store.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	return s.release()
}

func (s *Store) release() error {
	s.closed = true
	var err error
	if s.history != nil {
		err = s.history.Close()
	}
	return errors.Join(err, s.lock.Unlock())
}
