package store

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

const manifestSuffix = ".json"

// manifestName sorts by revision.
func manifestName(revision uint64) string { return fmt.Sprintf("%020d%s", revision, manifestSuffix) }

// openManifests reads the manifests, oldest first, and sets aside what is damaged.
func (s *Store) openManifests() error {
	names, swept, err := sweep(s.manifests)
	if err != nil {
		return fmt.Errorf("list manifests: %w", err)
	}
	s.warnSwept(swept, s.manifests)
	var newest uint64 // by name, whatever is inside
	for _, name := range names {
		number, rest, _ := strings.Cut(name, ".")
		revision, err := strconv.ParseUint(number, 10, 64)
		if err != nil || len(number) != 20 {
			continue
		}
		newest = max(newest, revision)
		if "."+rest != manifestSuffix {
			continue
		}
		path := filepath.Join(s.manifests, name)
		m, err := readManifest(path, revision)
		if err != nil {
			if errors.Is(err, ErrDamaged) {
				err = s.setManifestAside(path, err)
			}
			if err != nil {
				return fmt.Errorf("read manifest %s: %w", path, err)
			}
			continue
		}
		s.kept = append(s.kept, m)
	}
	slices.SortFunc(s.kept, func(a, b *Manifest) int { return cmp.Compare(a.Revision, b.Revision) })
	s.revision = newest
	for _, m := range s.kept {
		s.seq = max(s.seq, m.Change.Seq)
	}
	switch m, ok := s.current(); {
	case ok && m.Revision < newest:
		s.fellBack = true
		s.warn("the set of policies of revision %d is damaged: revision %d is used instead", newest, m.Revision)
	case !ok && newest > 0:
		s.fellBack = true
		s.warn("no set of policies in %s is whole", s.manifests)
	}
	return nil
}

// missedSet warns when the history knows of sets and there is none, not even a damaged one.
func (s *Store) missedSet() error {
	if _, ok := s.current(); !ok && !s.fellBack && s.revision > 0 {
		s.fellBack = true
		s.warn("the history ends with revision %d, and %s holds no set of policies", s.revision, s.manifests)
	}
	return nil
}

func (s *Store) setManifestAside(path string, why error) error {
	s.warn("%s: %v: it was renamed to %s", path, why, filepath.Base(path)+damagedSuffix)
	return setAside(path)
}

func readManifest(path string, revision uint64) (*Manifest, error) {
	b, err := readFile(path, maxManifest)
	if err != nil {
		return nil, err
	}
	m, err := decodeManifest(b)
	if err == nil && m.Revision != revision {
		return nil, fmt.Errorf("%w: it holds revision %d", ErrDamaged, m.Revision)
	}
	return m, err
}

// Manifest is the newest set that is whole. It is not to be changed.
func (s *Store) Manifest() (*Manifest, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.current()
}

func (s *Store) current() (*Manifest, bool) {
	if len(s.kept) == 0 {
		return nil, false
	}
	return s.kept[len(s.kept)-1], true
}

// Kept lists the sets that are kept, the newest first. They are not to be changed.
func (s *Store) Kept() []*Manifest {
	s.mu.Lock()
	defer s.mu.Unlock()
	kept := slices.Clone(s.kept)
	slices.Reverse(kept)
	return kept
}

// writeManifest makes m the set in force.
func (s *Store) writeManifest(m *Manifest) error {
	b, err := encodeManifest(m)
	if err != nil {
		return err
	}
	if len(b) > maxManifest {
		return fmt.Errorf("the set takes %d bytes, and %d are allowed: shorten the policies' settings", len(b), maxManifest)
	}
	name := manifestName(m.Revision)
	if err := s.writeFile(s.manifests, name, b); err != nil {
		_ = os.Remove(filepath.Join(s.manifests, name)) // it is there if only the folder could not be synced
		return fmt.Errorf("write manifest: %w", err)
	}
	s.kept = append(s.kept, m)
	return nil
}

// prune removes the manifests that are too many.
func (s *Store) prune() {
	for len(s.kept) > s.opt.KeepManifests+1 {
		err := os.Remove(filepath.Join(s.manifests, manifestName(s.kept[0].Revision)))
		if err != nil {
			s.opt.Log.Warn("cannot remove an old set of policies", "revision", s.kept[0].Revision, "error", err)
		}
		s.kept = s.kept[1:]
	}
}
