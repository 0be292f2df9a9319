package store

import (
	"errors"
	"log/slog"
	"time"

	"github.com/dgraph-io/badger/v4"
	boptions "github.com/dgraph-io/badger/v4/options"
)

// Errors of Open that a user can do something about.
var (
	// ErrLocked means that another process has the directory open.
	ErrLocked = errors.New("trace directory is in use by another process")
	// ErrNewer means that a newer version of Sluice wrote the directory.
	ErrNewer = errors.New("trace directory was written by a newer version of Sluice")
	// ErrNoTraces means that there is nothing to read at a path that was opened for reading.
	ErrNoTraces = errors.New("no traces there")
)

// Options of Open. The zero value is what a server uses.
type Options struct {
	// ReadOnly opens what is there for Scan alone, when no server runs. Badger may still repair its files after a crash.
	ReadOnly bool
	// Ring is the number of records that wait for the writer; 0 = 4096. Beyond it Put drops.
	Ring int
	// FlushEvery bounds how long a record waits before it is on disk; 0 = 50 ms.
	FlushEvery time.Duration
	// Retain is how long records are kept, by whole days of UTC; 0 = for ever.
	Retain time.Duration
	// MinFree is the free space in bytes below which nothing is written; 0 = 512 MB.
	MinFree uint64
	// Log gets what went wrong; nil = slog.Default().
	Log *slog.Logger

	now       func() time.Time
	free      func(dir string) (uint64, error)
	closeWait time.Duration // 0 = 10 s
	closeDB   func(*day) error
}

const (
	flushRecords = 1000
	memTable     = 16 << 20
	// resumeAbove is the share of MinFree, in percent, from which writing goes on: not at the very limit, or it would flap.
	resumeAbove = 125
)

func (o Options) withDefaults() Options {
	if o.Ring <= 0 {
		o.Ring = 4096
	}
	if o.closeWait <= 0 {
		o.closeWait = 10 * time.Second
	}
	if o.closeDB == nil {
		o.closeDB = func(d *day) error { return d.db.Close() }
	}
	if o.FlushEvery <= 0 {
		o.FlushEvery = 50 * time.Millisecond
	}
	if o.MinFree == 0 {
		o.MinFree = max(512<<20, 4*memTable)
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if o.now == nil {
		o.now = time.Now
	}
	if o.free == nil {
		o.free = freeSpace
	}
	return o
}

// badgerOptions is a profile for a side job in a process that has better things to do with its memory. Writes are synced:
// with a thousand records in a batch that costs a few ms, and a power cut then loses nothing that was flushed.
func badgerOptions(dir string, log *slog.Logger) badger.Options {
	return badger.DefaultOptions(dir).
		WithSyncWrites(true).
		WithDetectConflicts(false).
		WithNumVersionsToKeep(1).
		WithCompression(boptions.Snappy).
		WithMemTableSize(memTable).
		WithNumMemtables(3).
		WithNumLevelZeroTables(3).
		WithNumLevelZeroTablesStall(8).
		WithNumCompactors(2).
		WithBlockCacheSize(16 << 20).
		WithIndexCacheSize(8 << 20).
		WithValueLogFileSize(64 << 20).
		WithCompactL0OnClose(false).
		WithMetricsEnabled(false).
		WithLogger(badgerLog{log})
}
