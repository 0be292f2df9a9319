package store

import (
	"encoding/json"
	"os"

	"github.com/google/renameio/v2"
)

// count stands in a file beside each day's database. Some damage makes Badger open with fewer records, or none, and say
// nothing: only a count that is kept elsewhere notices.
type count struct {
	Records uint64 `json:"records"` // written to the present database
	Lost    uint64 `json:"lost"`    // known to be gone
}

func (s *Store) readCount(day string) (c count) {
	b, err := os.ReadFile(s.path(day + ".count"))
	if err != nil || json.Unmarshal(b, &c) != nil {
		return count{} // no count: nothing to compare with
	}
	return c
}

func (s *Store) writeCount(day string, c count) {
	b, err := json.Marshal(c)
	if err == nil {
		err = renameio.WriteFile(s.path(day+".count"), b, 0o644)
	}
	if err != nil {
		s.opt.Log.Warn("cannot write the count beside the traces", "day", day, "error", err)
	}
}
