package store

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/dgraph-io/badger/v4"
	"github.com/sluice-dev/sluice/host/trace"
)

// Query says which records a scan is for. The zero value is all of them, oldest first.
type Query struct {
	From, To    int64  // arrival, unix ns, half-open; To 0 = no end
	Class       string // "" = every class
	Limit       int    // 0 = none
	NewestFirst bool
}

// Report says what a scan saw.
type Report struct {
	Records int // handed to the caller
	Damaged []Damage
}

// Damage is a day of which records are missing.
type Damage struct {
	Day  string
	Have uint64 // records that are there
	Want uint64 // records that were written, as far as is known
	Err  error  // why the day, or a record of it, could not be read; nil when records are just gone
}

func (d Damage) String() string {
	text := fmt.Sprintf("traces of %s are incomplete: %d of %d records", d.Day, d.Have, d.Want)
	if d.Err != nil {
		text += ": " + d.Err.Error()
	}
	return text
}

// Scan calls fn for each record that q asks for, by arrival, until fn returns an error, which Scan returns. Damage is no
// error: the report names the days of which records are missing.
func (s *Store) Scan(ctx context.Context, q Query, fn func(*trace.Record) error) (Report, error) {
	var rep Report
	if !s.enterScan() {
		return rep, ErrClosed
	}
	defer s.scans.Done()
	days, err := listDays(s.dir)
	if err != nil {
		return rep, fmt.Errorf("list traces: %w", err)
	}
	if q.NewestFirst {
		slices.Reverse(days)
	}
	for _, name := range days {
		if (q.To > 0 && name > dayOf(q.To-1)) || (q.From > 0 && name < dayOf(q.From)) {
			continue
		}
		if q.Limit > 0 && rep.Records >= q.Limit {
			break
		}
		if err := s.scanDay(ctx, name, q, &rep, fn); err != nil {
			return rep, err
		}
	}
	return rep, nil
}

// enterScan keeps Close from closing what a scan reads.
func (s *Store) enterScan() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.stop:
		return false
	default:
		s.scans.Add(1)
		return true
	}
}

func (s *Store) scanDay(ctx context.Context, name string, q Query, rep *Report, fn func(*trace.Record) error) error {
	d, err := s.acquire(name)
	if errors.Is(err, ErrNewer) {
		return err
	}
	if err != nil {
		rep.Damaged = append(rep.Damaged, Damage{Day: name, Want: s.readCount(name).Records, Err: err})
		return nil
	}
	defer s.release(d)
	s.mu.Lock()
	want, lost := d.meta.records, d.lost
	s.mu.Unlock()
	it := dayScan{ctx: ctx, name: name, q: q, rep: rep, fn: fn}
	if err := d.db.View(it.run); err != nil {
		return err
	}
	have := want
	if it.whole() {
		have = min(it.seen, want) // more may have come since
	}
	if have -= min(it.unreadable, have); have < want || lost > 0 {
		rep.Damaged = append(rep.Damaged, Damage{Day: name, Have: have, Want: want + lost, Err: it.firstBad})
	}
	return nil
}

// dayScan is one pass over a day.
type dayScan struct {
	ctx  context.Context
	name string
	q    Query
	rep  *Report
	fn   func(*trace.Record) error

	seen       uint64 // keys of records
	unreadable uint64
	firstBad   error
	cut        bool // ended before the day's end
}

// whole reports whether the pass went over the whole day, so that its count can be held against the day's.
func (x *dayScan) whole() bool {
	return !x.cut && (x.q.From <= 0 || dayOf(x.q.From-1) < x.name) && (x.q.To <= 0 || dayOf(x.q.To) > x.name)
}

func (x *dayScan) run(txn *badger.Txn) error {
	opt := badger.DefaultIteratorOptions
	opt.PrefetchValues = false // values lie beside their keys
	opt.Prefix = []byte{recordPrefix}
	opt.Reverse = x.q.NewestFirst
	it := txn.NewIterator(opt)
	defer it.Close()
	for it.Seek(x.start()); it.Valid(); it.Next() {
		if x.seen++; x.seen%1024 == 0 && x.ctx.Err() != nil {
			return x.ctx.Err()
		}
		more, err := x.item(it.Item())
		if err != nil || !more {
			x.cut = true
			return err
		}
	}
	return nil
}

// start is where the iterator begins; backwards that is the last key that may be wanted.
func (x *dayScan) start() []byte {
	switch {
	case !x.q.NewestFirst:
		return timeKey(x.q.From)
	case x.q.To > 0:
		return timeKey(x.q.To)
	}
	return []byte{recordPrefix, 0xff}
}

func (x *dayScan) item(item *badger.Item) (more bool, err error) {
	arrival, class, ok := splitKey(item.Key())
	switch {
	case !ok:
		x.bad(fmt.Errorf("%w: key of %d bytes", errValue, len(item.Key())))
		return true, nil
	case x.q.To > 0 && arrival >= x.q.To:
		return x.q.NewestFirst, nil
	case arrival < x.q.From:
		return !x.q.NewestFirst, nil
	case x.q.Class != "" && string(class) != x.q.Class[:min(len(x.q.Class), maxClassKey)]:
		return true, nil
	}
	var rec *trace.Record
	err = item.Value(func(b []byte) (err error) {
		rec, err = decodeValue(b)
		return err
	})
	if err != nil {
		x.bad(err)
		return true, nil
	}
	if err := x.fn(rec); err != nil {
		return false, err
	}
	x.rep.Records++
	return x.q.Limit == 0 || x.rep.Records < x.q.Limit, nil
}

func (x *dayScan) bad(err error) {
	x.unreadable++
	if x.firstBad == nil {
		x.firstBad = err
	}
}
