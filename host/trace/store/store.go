package store

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/gofrs/flock"
	"github.com/sluice-dev/sluice/host/trace"
)

// Store is an open trace directory. Its methods may be called from any goroutine.
type Store struct {
	dir  string
	opt  Options
	lock *flock.Flock

	mu       sync.Mutex // of open and leaving, and of the days' refs; held while a day is opened, and never while one is closed
	open     map[string]*day
	leaving  map[string]bool // days that are being closed
	left     sync.Cond       // one of them is closed
	acquired uint64
	scans    sync.WaitGroup // scans.Add happens under mu
	closings sync.WaitGroup // the writer's

	putting sync.RWMutex // lets Close see the last Put; held for the time of a send that does not block
	shut    bool

	ring     chan *trace.Record
	flushes  chan chan error
	stop     chan struct{}
	stopped  chan struct{}
	closing  sync.Once
	closeErr error

	stored, quarantined                     atomic.Uint64
	ringFull, diskFull, failed, bad, closed atomic.Uint64
	full                                    atomic.Bool
}

// Stats counts since Open. Stored + the drops = what was put, once Flush or Close has returned.
type Stats struct {
	Stored      uint64
	Dropped     map[string]uint64 // by reason: ring_full, disk_full, write_failed, invalid, closed
	Quarantined uint64            // days that were damaged and set aside
	DiskFull    bool              // nothing is written until space is free again
	Waiting     int               // records in the ring
}

// Open opens or makes the trace directory dir. ErrLocked, ErrNewer and ErrNoTraces are for errors.Is.
func Open(dir string, o Options) (*Store, error) {
	o = o.withDefaults()
	if err := prepare(dir, o.ReadOnly); err != nil {
		return nil, err
	}
	s := &Store{
		dir: dir, opt: o, lock: flock.New(filepath.Join(dir, "LOCK")), open: map[string]*day{}, leaving: map[string]bool{},
		ring: make(chan *trace.Record, o.Ring), flushes: make(chan chan error), stop: make(chan struct{}), stopped: make(chan struct{}),
	}
	s.left.L = &s.mu
	ok, err := s.lock.TryLock()
	if err != nil {
		return nil, fmt.Errorf("lock trace directory %s: %w", dir, err)
	}
	if !ok {
		return nil, fmt.Errorf("%w: %s (stop that process, read through its admin API, or name another directory)", ErrLocked, dir)
	}
	if err := s.start(); err != nil {
		return nil, errors.Join(err, s.lock.Unlock())
	}
	return s, nil
}

func prepare(dir string, readOnly bool) error {
	if readOnly {
		// Before anything is written there: the name may be a mistake.
		if days, err := listDays(dir); err != nil || len(days) == 0 {
			return fmt.Errorf("open traces: %w: %s", ErrNoTraces, dir)
		}
		return nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("make trace directory: %w", err)
	}
	return nil
}

func (s *Store) start() error {
	if s.opt.ReadOnly {
		close(s.stopped)
		return nil
	}
	s.forget()
	// Today is opened now: a directory that cannot be written is the caller's to know, not the writer's to find out.
	d, err := s.acquire(dayOf(s.opt.now().UnixNano()))
	if err != nil {
		return err
	}
	s.release(d)
	go s.write()
	return nil
}

// Put hands over a record; it must not be touched afterwards. It never blocks: when the ring is full, the record is
// dropped and counted. It reports whether the record was taken in.
func (s *Store) Put(r *trace.Record) bool {
	s.putting.RLock()
	defer s.putting.RUnlock()
	if s.shut || s.opt.ReadOnly {
		s.closed.Add(1)
		return false
	}
	select {
	case s.ring <- r:
		return true
	default:
		s.ringFull.Add(1)
		return false
	}
}

// ErrClosed is returned by Flush after Close.
var ErrClosed = errors.New("trace store is closed")

// Flush returns once everything that was put before it is on disk, or dropped and counted. Its error is the first of the
// writes that it waited for.
func (s *Store) Flush(ctx context.Context) error {
	done := make(chan error, 1)
	select {
	case s.flushes <- done:
	case <-s.stopped:
		return ErrClosed
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Stats returns the counters.
func (s *Store) Stats() Stats {
	return Stats{
		Stored: s.stored.Load(), Quarantined: s.quarantined.Load(), DiskFull: s.full.Load(), Waiting: len(s.ring),
		Dropped: map[string]uint64{
			"ring_full": s.ringFull.Load(), "disk_full": s.diskFull.Load(), "write_failed": s.failed.Load(),
			"invalid": s.bad.Load(), "closed": s.closed.Load(),
		},
	}
}

// Close writes what was put, closes the directory, and waits for running scans. Further calls return the same.
func (s *Store) Close() error {
	s.closing.Do(func() {
		s.putting.Lock()
		s.shut = true
		s.putting.Unlock()
		close(s.stop)
		<-s.stopped
		s.scans.Wait()
		s.closings.Wait()
		for _, d := range s.takeAllOut() {
			s.closeErr = errors.Join(s.closeErr, s.closeDay(d))
		}
		s.closeErr = errors.Join(s.closeErr, s.lock.Unlock())
	})
	return s.closeErr
}

// takeAllOut takes out every open day, for good.
func (s *Store) takeAllOut() []*day {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := slices.Collect(maps.Values(s.open))
	for _, d := range all {
		s.takeOut(d)
	}
	return all
}
