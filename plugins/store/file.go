package store

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
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
