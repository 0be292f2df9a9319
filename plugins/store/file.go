package store

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// tmpPrefix begins the name of a file that is being written. Nothing else has such a name.
const tmpPrefix = ".tmp-"

// damagedSuffix ends the name of a file that was set aside.
const damagedSuffix = ".damaged"

// writeFile makes dir/name appear whole and durable, in the place of a file of that name, or not at all.
func (s *Store) writeFile(dir, name string, data []byte) (err error) {
	s.at("create")
	f, err := os.CreateTemp(dir, tmpPrefix+"*")
	if err != nil {
		return err
	}
	s.at("write")
	_, err = f.Write(data)
	s.at("sync")
	err = errors.Join(err, f.Sync(), f.Close())
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	s.at("rename")
	if err := os.Rename(f.Name(), filepath.Join(dir, name)); err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	s.at("sync folder")
	return syncDir(dir)
}

// at tells a test that a crash could happen here.
func (s *Store) at(point string) {
	if s.opt.crash != nil {
		s.opt.crash(point)
	}
}

// syncDir makes what was created, renamed or removed in a folder durable.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// readFile reads a file that the store wrote, of at most limit bytes. What is no file, is larger, or lies on a broken part of
// the disk is ErrDamaged.
func readFile(path string, limit int64) ([]byte, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%w: it is no file", ErrDamaged)
	case info.Size() > limit:
		return nil, fmt.Errorf("%w: it has more than %d bytes", ErrDamaged, limit)
	}
	b, err := os.ReadFile(path)
	if errors.Is(err, syscall.EIO) {
		return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return b, err
}

// setAside renames a damaged file, so that it is never used again and can be looked at.
func setAside(path string) error {
	if err := os.Rename(path, path+damagedSuffix); err != nil {
		return fmt.Errorf("set %s aside: %w", path, err)
	}
	return syncDir(filepath.Dir(path))
}

// sweep removes what a crash left unfinished in a folder and lists the rest.
func sweep(dir string) (names []string, swept int, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, 0, err
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), tmpPrefix) {
			names = append(names, e.Name())
			continue
		}
		if err := os.Remove(filepath.Join(dir, e.Name())); err != nil {
			return nil, swept, err
		}
		swept++
	}
	return names, swept, nil
}
