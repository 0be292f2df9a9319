// Package audit keeps who changed what: one JSON object a line, in a file that is rotated by its size.
//
// It is not the server's log, which says the same in passing and may be lost; and it is no proof against whoever can write
// the file. Lines are not synced to the disk one by one.
//
//	log, err := audit.Open("audit.jsonl", audit.Options{})
//	defer log.Close()
//	err = log.Write(audit.Entry{Time: time.Now(), Who: "uid:1000", Method: "PUT", Path: "/v1/policies/a", Status: 200})
package audit

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"time"
)

// Entry is one request that changed something, or that was refused. Fields may be added.
type Entry struct {
	Time    time.Time `json:"time"`
	Request string    `json:"request"`          // the request's id, which the answer has too
	Who     string    `json:"who"`              // "token", "uid:1000" of a unix socket's peer, or "anonymous"
	Remote  string    `json:"remote,omitempty"` // the peer's address; none on a unix socket
	Method  string    `json:"method"`
	Path    string    `json:"path"`
	Policy  string    `json:"policy,omitempty"`
	Digest  string    `json:"digest,omitempty"`  // of the module that was sent or came into force
	DryRun  bool      `json:"dry_run,omitempty"` // nothing was to be changed
	Why     string    `json:"why,omitempty"`     // what the client gave as its reason
	Status  int       `json:"status"`            // of the answer
	Code    string    `json:"code,omitempty"`    // of the problem, when it was refused
	Detail  string    `json:"detail,omitempty"`  // likewise
	Skipped uint64    `json:"skipped,omitempty"` // refusals of nobody known that came too fast to be written down, before this one
}

// Options bound the files.
type Options struct {
	MaxBytes int64 // after which a file is set aside; 0 = 8 MiB
	Keep     int   // files that were set aside, FILE.1 being the newest; 0 = 4
}

// Log is an open file. Its methods may be called from any goroutine.
type Log struct {
	path string
	o    Options

	mu   sync.Mutex // guards what follows
	file *os.File   // nil after Close
	size int64
}

// Open appends to a file, which only its owner can read.
func Open(path string, o Options) (*Log, error) {
	if o.MaxBytes == 0 {
		o.MaxBytes = 8 << 20
	}
	if o.Keep == 0 {
		o.Keep = 4
	}
	l := &Log{path: path, o: o}
	if err := l.open(); err != nil {
		return nil, err
	}
	return l, nil
}

func (l *Log) open() error {
	f, err := os.OpenFile(l.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("open audit log: %w", err)
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return fmt.Errorf("open audit log: %w", err)
	}
	l.file, l.size = f, info.Size()
	return nil
}

// Write appends one line. After an error the next call tries again.
func (l *Log) Write(e Entry) error {
	line, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("encode audit entry: %w", err)
	}
	line = append(line, '\n')
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil {
		return fmt.Errorf("write audit log: %w", os.ErrClosed)
	}
	if l.size > 0 && l.size+int64(len(line)) > l.o.MaxBytes {
		if err := l.rotate(); err != nil {
			return err
		}
	}
	n, err := l.file.Write(line)
	l.size += int64(n)
	if err != nil {
		return fmt.Errorf("write audit log: %w", err)
	}
	return nil
}

// rotate sets the file aside and begins a new one. When that fails, the old file goes on.
func (l *Log) rotate() error {
	for i := l.o.Keep; i >= 1; i-- {
		if err := os.Rename(l.aside(i-1), l.aside(i)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("rotate audit log: %w", err)
		}
	}
	old := l.file
	if err := l.open(); err != nil {
		return err
	}
	if err := old.Close(); err != nil {
		return fmt.Errorf("rotate audit log: %w", err)
	}
	return nil
}

// aside names the i-th newest file that was set aside; 0 is the file itself.
func (l *Log) aside(i int) string {
	if i == 0 {
		return l.path
	}
	return fmt.Sprintf("%s.%d", l.path, i)
}

// Close ends the log.
func (l *Log) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil {
		return nil
	}
	err := l.file.Close()
	l.file = nil
	if err != nil {
		return fmt.Errorf("close audit log: %w", err)
	}
	return nil
}
