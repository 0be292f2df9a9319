package measure

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Store keeps reports as files in a folder, which it makes. Several processes may use one.
type Store struct{ Dir string }

// format is the version of the files.
const format = 4

// file is a report as it is kept.
type file struct {
	Format int             `json:"format"`
	Setup  string          `json:"setup"`  // what the report is of: device, model, library, settings
	SHA256 string          `json:"sha256"` // of Report as it stands
	Report json.RawMessage `json:"report"`
}

func (s Store) path(setup string) string {
	sum := sha256.Sum256([]byte(setup))
	return filepath.Join(s.Dir, "costs-"+hex.EncodeToString(sum[:8])+".json")
}

// Load gives the report of a setup: everything that step times depend on, as one text. A file that is damaged, of another setup
// or of another version is an error, as is one that is not there, which wraps os.ErrNotExist: measure anew.
func (s Store) Load(setup string) (Report, error) {
	data, err := os.ReadFile(s.path(setup))
	if err != nil {
		return Report{}, fmt.Errorf("read step times: %w", err)
	}
	r, err := decode(data, setup)
	if err != nil {
		return Report{}, fmt.Errorf("read step times %s: %w", s.path(setup), err)
	}
	return r, nil
}

func decode(data []byte, setup string) (r Report, err error) {
	var f file
	if err := json.Unmarshal(data, &f); err != nil {
		return r, err
	}
	sum := sha256.Sum256(f.Report)
	switch {
	case f.Format != format:
		return r, fmt.Errorf("format %d is not %d", f.Format, format)
	case f.Setup != setup:
		return r, errors.New("they are another setup's")
	case f.SHA256 != hex.EncodeToString(sum[:]):
		return r, errors.New("they are damaged")
	}
	if err := json.Unmarshal(f.Report, &r); err != nil {
		return r, err
	}
	if r.Costs.Step[0][0] <= 0 {
		return r, errors.New("they have no time of a single step")
	}
	return r, nil
}

// Save keeps the report under its setup. The file appears whole or not at all.
func (s Store) Save(setup string, r Report) error {
	report, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("encode step times: %w", err)
	}
	sum := sha256.Sum256(report)
	data, err := json.Marshal(file{Format: format, Setup: setup, SHA256: hex.EncodeToString(sum[:]), Report: report})
	if err != nil {
		return fmt.Errorf("encode step times: %w", err)
	}
	if err := write(s.path(setup), append(data, '\n')); err != nil {
		return fmt.Errorf("write step times: %w", err)
	}
	return nil
}

func write(path string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), ".costs-*.partial")
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name())
	_, err = tmp.Write(data)
	if err = errors.Join(err, tmp.Close()); err != nil {
		return err
	}
	return os.Rename(tmp.Name(), path)
}
