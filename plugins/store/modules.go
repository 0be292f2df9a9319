package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

const moduleSuffix = ".wasm"

func (s *Store) modulePath(digest string) string {
	return filepath.Join(s.modules, digest+moduleSuffix)
}

// openModules finds the modules. What they hold is checked when they are read.
func (s *Store) openModules() error {
	names, swept, err := sweep(s.modules)
	if err != nil {
		return fmt.Errorf("list modules: %w", err)
	}
	s.warnSwept(swept, s.modules)
	for _, name := range names {
		digest, ok := strings.CutSuffix(name, moduleSuffix)
		if !ok || !isDigest(digest) {
			continue
		}
		info, err := os.Stat(filepath.Join(s.modules, name))
		if err != nil {
			return fmt.Errorf("list modules: %w", err)
		}
		s.sizes[digest] = info.Size()
		s.bytes += info.Size()
	}
	return nil
}

// Put stores a module and returns its digest. It stays at least until the next Commit, and as long as a kept manifest or one of
// the last entries of the history names it. ErrFull names the limit that it would go beyond.
func (s *Store) Put(wasm []byte) (digest string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return "", ErrClosed
	}
	digest = digestOf(wasm)
	switch _, err := s.read(digest); {
	case err == nil:
		return digest, nil
	case !errors.Is(err, ErrMissing) && !errors.Is(err, ErrDamaged): // which this repairs
		return "", err
	}
	if err := s.room(int64(len(wasm))); err != nil {
		return "", err
	}
	if err := s.writeFile(s.modules, digest+moduleSuffix, wasm); err != nil {
		return "", fmt.Errorf("store module: %w", err)
	}
	s.sizes[digest] = int64(len(wasm))
	s.bytes += int64(len(wasm))
	return digest, nil
}

// room makes room for a module where it can.
func (s *Store) room(size int64) error {
	full := func() error {
		switch {
		case len(s.sizes)+1 > s.opt.MaxModules:
			return fmt.Errorf("%w: it holds %d modules, and %d are allowed", ErrFull, len(s.sizes), s.opt.MaxModules)
		case s.bytes+size > s.opt.MaxModuleBytes:
			return fmt.Errorf("%w: modules take %d bytes, %d more are wanted, and %d are allowed", ErrFull, s.bytes, size, s.opt.MaxModuleBytes)
		}
		return nil
	}
	if full() != nil {
		s.collect()
	}
	return full()
}

// Get reads a module. ErrMissing: there is none. ErrDamaged: it was, and its file has been set aside.
func (s *Store) Get(digest string) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, ErrClosed
	}
	return s.read(digest)
}

func (s *Store) read(digest string) ([]byte, error) {
	if !isDigest(digest) {
		return nil, fmt.Errorf("%w: %q is not 64 hex digits", ErrMissing, digest)
	}
	path := s.modulePath(digest)
	wasm, err := readFile(path, s.opt.MaxModuleBytes)
	if errors.Is(err, fs.ErrNotExist) {
		s.forget(digest)
		return nil, fmt.Errorf("%w: %s", ErrMissing, digest)
	}
	if err == nil && digestOf(wasm) != digest {
		err = fmt.Errorf("%w: it does not hold what its name says", ErrDamaged)
	}
	if err == nil {
		return wasm, nil
	}
	if !errors.Is(err, ErrDamaged) {
		return nil, fmt.Errorf("read module: %w", err)
	}
	if err := setAside(path); err != nil {
		return nil, fmt.Errorf("%s is %w: %w", path, ErrDamaged, err)
	}
	s.forget(digest)
	return nil, fmt.Errorf("%s is %w, and was renamed to %s: push the module again", path, err, filepath.Base(path)+damagedSuffix)
}

func (s *Store) forget(digest string) {
	s.bytes -= s.sizes[digest]
	delete(s.sizes, digest)
}

// collect removes the modules that neither a kept manifest nor the recent history names.
func (s *Store) collect() {
	needed := named(s.kept, s.recent)
	for digest := range s.sizes {
		if needed[digest] {
			continue
		}
		if err := os.Remove(s.modulePath(digest)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			s.opt.Log.Warn("cannot remove a policy module that nothing names", "digest", digest, "error", err)
			continue
		}
		s.forget(digest)
	}
}

// Modules is how many modules there are, and their bytes.
func (s *Store) Modules() (n int, bytes int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.sizes), s.bytes
}
