package store

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

const (
	historyName = "history.jsonl"
	historyOld  = "history.old.jsonl"
)

// openHistory finds the end of the history and cuts off a line that was not finished.
func (s *Store) openHistory() error {
	var err error
	s.history, err = os.OpenFile(filepath.Join(s.dir, historyName), os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("open history: %w", err)
	}
	if err := syncDir(s.dir); err != nil {
		return fmt.Errorf("open history: %w", err)
	}
	for _, name := range []string{historyOld, historyName} {
		path := filepath.Join(s.dir, name)
		entries, whole, torn, bad, err := readHistory(path)
		if err != nil {
			return fmt.Errorf("read history: %w", err)
		}
		if torn > 0 {
			s.warn("%s: the last line was not finished: its %d bytes are left out", path, torn)
		}
		if bad > 0 {
			s.warn("%s: %d lines are damaged and left out", path, bad)
		}
		for _, e := range entries {
			s.remember(e)
		}
		s.historySize = whole
	}
	return s.cutHistory()
}

// remember takes an entry into account that the history has.
func (s *Store) remember(e Entry) {
	s.seq, s.revision = max(s.seq, e.Seq), max(s.revision, e.Revision)
	s.written = max(s.written, e.Seq)
	s.recent = append(s.recent, e)
	if len(s.recent) > recentEntries {
		s.recent = slices.Clone(s.recent[1:])
	}
}

// readHistory reads one file. whole is where its last finished line ends, torn the bytes after that, bad the damaged lines.
func readHistory(path string) (entries []Entry, whole, torn int64, bad int, err error) {
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0, 0, 0, nil
	}
	if err != nil {
		return nil, 0, 0, 0, err
	}
	entries, rest, bad := decodeHistory(b)
	return entries, int64(len(b) - rest), int64(rest), bad, nil
}

// decodeHistory reads lines. rest are the bytes of a last one without an end.
func decodeHistory(b []byte) (entries []Entry, rest, bad int) {
	for len(b) > 0 {
		line, after, whole := bytes.Cut(b, []byte{'\n'})
		if !whole {
			return entries, len(line), bad
		}
		b = after
		var e Entry
		if err := decodeJSON(line, &e); err != nil || e.Seq == 0 || e.Op == "" {
			bad++
			continue
		}
		entries = append(entries, e)
	}
	return entries, 0, bad
}

// cutHistory removes what is behind the last finished line.
func (s *Store) cutHistory() error {
	info, err := s.history.Stat()
	if err != nil {
		return fmt.Errorf("write history: %w", err)
	}
	if info.Size() == s.historySize {
		return nil
	}
	if err := s.history.Truncate(s.historySize); err != nil {
		return fmt.Errorf("write history: %w", err)
	}
	return nil
}

// appendHistory writes an entry and the entries of manifests that could not be written when they were made. It does not
// return before they are durable.
func (s *Store) appendHistory(e Entry) error {
	for _, m := range s.kept {
		if c := m.Change; c.Seq > s.written && c.Seq < e.Seq {
			if err := s.appendLine(c); err != nil {
				return err
			}
		}
	}
	return s.appendLine(e)
}

func (s *Store) appendLine(e Entry) error {
	line, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("write history: %w", err)
	}
	line = append(line, '\n')
	if err := s.cutHistory(); err != nil { // of a write that failed half-way
		return err
	}
	if s.historySize > 0 && s.historySize+int64(len(line)) > s.opt.MaxHistoryBytes {
		if err := s.rotate(); err != nil {
			return err
		}
	}
	s.at("append")
	if _, err := s.history.Write(line); err != nil {
		return fmt.Errorf("write history: %w", err)
	}
	s.at("sync history")
	if err := s.history.Sync(); err != nil {
		return fmt.Errorf("write history: %w", err)
	}
	s.historySize += int64(len(line))
	s.remember(e)
	return nil
}

// rotate begins a new file, in the place of the one before the last.
func (s *Store) rotate() error {
	path := filepath.Join(s.dir, historyName)
	s.at("rotate")
	// A rotation that failed half-way has renamed it already.
	if err := os.Rename(path, filepath.Join(s.dir, historyOld)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("rotate history: %w", err)
	}
	s.at("new history")
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("rotate history: %w", err)
	}
	old := s.history
	s.history, s.historySize = f, 0
	return errors.Join(old.Close(), syncDir(s.dir))
}

// History returns the newest entries whose Seq is below before, the newest first. before 0 = all.
func (s *Store) History(limit int, before uint64) ([]Entry, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, ErrClosed
	}
	var all []Entry
	for _, name := range []string{historyOld, historyName} {
		entries, _, _, _, err := readHistory(filepath.Join(s.dir, name))
		if err != nil {
			return nil, fmt.Errorf("read history: %w", err)
		}
		all = append(all, entries...)
	}
	for _, m := range s.kept {
		if m.Change.Seq > s.written {
			all = append(all, m.Change)
		}
	}
	return newest(all, limit, before), nil
}

// newest picks from entries that are in order.
func newest(all []Entry, limit int, before uint64) []Entry {
	picked := []Entry{}
	for _, e := range slices.Backward(all) {
		if len(picked) == limit {
			break
		}
		if before == 0 || e.Seq < before {
			picked = append(picked, e)
		}
	}
	return picked
}
