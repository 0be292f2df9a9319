package store

import (
	"errors"
	"fmt"
	"time"

	"github.com/dgraph-io/badger/v4"
	"github.com/sluice-dev/sluice/host/trace"
)

const (
	countEvery  = time.Second
	forgetEvery = time.Hour
	// blockedTries bounds the wait for Badger while it blocks writes, at blockedPause a try.
	blockedTries = 50
	blockedPause = 10 * time.Millisecond
)

// write is the one writer. It gathers records for FlushEvery, or flushRecords of them, and writes them as one batch.
func (s *Store) write() {
	defer close(s.stopped)
	var batch []*trace.Record
	timer := time.NewTimer(time.Hour)
	timer.Stop()
	retention := time.NewTicker(forgetEvery)
	defer retention.Stop()
	flush := func() error {
		timer.Stop()
		err := s.flush(batch)
		clear(batch)
		batch = batch[:0]
		return err
	}
	for {
		select {
		case r := <-s.ring:
			if batch = append(batch, r); len(batch) == 1 {
				timer.Reset(s.opt.FlushEvery)
			} else if len(batch) >= flushRecords {
				flush()
			}
		case <-timer.C:
			flush()
		case done := <-s.flushes:
			done <- s.drain(&batch, flush)
		case <-retention.C:
			s.forget()
		case <-s.stop:
			s.drain(&batch, flush)
			return
		}
	}
}

// drain writes everything that is in the ring now.
func (s *Store) drain(batch *[]*trace.Record, flush func() error) (first error) {
	for {
		select {
		case r := <-s.ring:
			*batch = append(*batch, r)
			if len(*batch) < flushRecords {
				continue
			}
		default:
			return errors.Join(first, flush())
		}
		if err := flush(); first == nil {
			first = err
		}
	}
}

// flush writes a batch, day by day. What cannot be written is counted and said once, here.
func (s *Store) flush(batch []*trace.Record) error {
	if len(batch) == 0 || !s.roomFor(len(batch)) {
		return nil
	}
	byDay := map[string][]*trace.Record{}
	var order []string
	for _, r := range batch {
		if err := r.Validate(); err != nil {
			s.bad.Add(1)
			s.opt.Log.Error("a trace record is impossible and is dropped", "id", r.ID, "error", err)
			continue
		}
		name := dayOf(r.Arrival)
		if byDay[name] == nil {
			order = append(order, name)
		}
		byDay[name] = append(byDay[name], r)
	}
	var first error
	for _, name := range order {
		if err := s.writeDay(name, byDay[name]); err != nil {
			s.failed.Add(uint64(len(byDay[name])))
			s.opt.Log.Error("cannot write traces", "day", name, "records", len(byDay[name]), "error", err)
			first = errors.Join(first, err)
			continue
		}
		s.stored.Add(uint64(len(byDay[name])))
	}
	return first
}

// roomFor guards against a full disk, on which a write through a mapped file ends the process.
func (s *Store) roomFor(n int) bool {
	free, err := s.opt.free(s.dir)
	need := s.opt.MinFree
	if s.full.Load() {
		need = need / 100 * resumeAbove
	}
	if err == nil && free >= need {
		if s.full.CompareAndSwap(true, false) {
			s.opt.Log.Info("traces are stored again", "free_bytes", free)
		}
		return true
	}
	s.diskFull.Add(uint64(n))
	if s.full.CompareAndSwap(false, true) {
		s.opt.Log.Error("no room for traces: they are dropped until there is", "directory", s.dir, "free_bytes", free, "need_bytes", need, "error", err)
	}
	return false
}

func (s *Store) writeDay(name string, records []*trace.Record) error {
	d, err := s.acquire(name)
	if err != nil {
		return err
	}
	defer s.releaseSoon(d)
	m := d.meta
	for try := 1; ; try++ {
		m = d.meta
		err = writeBatch(d.db, &m, records)
		if !errors.Is(err, badger.ErrBlockedWrites) || try == blockedTries {
			break
		}
		time.Sleep(blockedPause)
	}
	if err != nil {
		return err
	}
	s.mu.Lock()
	d.meta = m
	s.mu.Unlock()
	if now := s.opt.now(); now.Sub(d.counted) >= countEvery {
		d.counted = now
		s.writeCount(name, count{Records: m.records, Lost: d.lost})
	}
	return nil
}

// writeBatch writes records and the new count together, and returns once they are synced.
func writeBatch(db *badger.DB, m *meta, records []*trace.Record) error {
	wb := db.NewWriteBatch()
	defer wb.Cancel()
	for _, r := range records {
		value, err := encodeValue(r)
		if err != nil {
			return fmt.Errorf("encode trace record %q: %w", r.ID, err)
		}
		if err := wb.Set(recordKey(r.Arrival, uint32(m.records), r.Class), value); err != nil {
			return fmt.Errorf("write trace record %q: %w", r.ID, err)
		}
		m.records++
	}
	if err := wb.Set(metaKey, m.encode()); err != nil {
		return fmt.Errorf("write trace count: %w", err)
	}
	if err := wb.Flush(); err != nil {
		return fmt.Errorf("flush traces: %w", err)
	}
	return nil
}
