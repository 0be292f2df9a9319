// Package store keeps trace records in Badger, one directory a day, so that they survive the death of the process and
// are forgotten by removing a directory. The decode loop never waits for it: Put drops and counts what does not fit.
//
// It is not the interchange format: records leave it through Scan, as JSON lines that package trace defines. It holds
// nothing but records, and one process at a time may open a directory (ErrLocked).
//
//	s, err := store.Open("data/traces", store.Options{Retain: 7 * 24 * time.Hour})
//	s.Put(rec)                                  // never blocks
//	report, err := s.Scan(ctx, store.Query{NewestFirst: true, Limit: 20}, func(r *trace.Record) error { ... })
//	err = s.Close()                             // writes what was put
//
// A fault of the disk can still end the process: Badger maps its files, and a write into a full disk is a SIGBUS. The
// guards here (free space, markers around opening, counts beside the data) make that rare, and make it end there.
package store
