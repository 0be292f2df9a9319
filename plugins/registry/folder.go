package registry

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/sluice-dev/sluice/plugins"
	"github.com/sluice-dev/sluice/plugins/store"
)

// The files of a policy in a watched folder.
const (
	wasmSuffix     = ".wasm"
	settingsSuffix = ".json"
	sigSuffix      = ".wasm.sig"
)

// maxFile bounds what is read of one file, in bytes. The host has a smaller limit of its own for modules.
const maxFile = 64 << 20

// stampFolder says for each policy of a folder what its files look like from outside.
func stampFolder(dir string) (map[string]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	stamps := map[string]string{}
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), wasmSuffix)
		if !ok || !plugins.ValidName(name) {
			continue
		}
		if stamp := stampPolicy(dir, name); stamp != "" {
			stamps[name] = stamp
		}
	}
	return stamps, nil
}

// stampPolicy is "" where there is no module.
func stampPolicy(dir, name string) string {
	var stamp strings.Builder
	for _, suffix := range []string{wasmSuffix, settingsSuffix, sigSuffix} {
		info, err := os.Stat(filepath.Join(dir, name+suffix))
		switch {
		case err == nil && info.Mode().IsRegular():
			fmt.Fprintf(&stamp, "%d@%d ", info.Size(), info.ModTime().UnixNano())
		case suffix == wasmSuffix:
			return ""
		default:
			stamp.WriteString("- ")
		}
	}
	return stamp.String()
}

// policyFile is one policy as a folder has it.
type policyFile struct {
	name                     string
	wasm, rawText, signature []byte
	settings                 fileSettings
	err                      error // what is wrong with the settings
}

// fileSettings are a NAME.json.
type fileSettings struct {
	Config map[string]string `json:"config"`
	Order  int               `json:"order"` // lower stands earlier in the chain
}

func readPolicyFile(dir, name string) (f policyFile, err error) {
	f.name = name
	if f.wasm, err = readFile(filepath.Join(dir, name+wasmSuffix)); err != nil {
		return f, err
	}
	for _, x := range []struct {
		suffix string
		to     *[]byte
	}{{settingsSuffix, &f.rawText}, {sigSuffix, &f.signature}} {
		if *x.to, err = readFile(filepath.Join(dir, name+x.suffix)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return f, err
		}
	}
	f.settings, f.err = decodeSettings(f.rawText)
	if f.err != nil {
		f.err = fmt.Errorf("%s%s: %w", name, settingsSuffix, f.err)
	}
	return f, nil
}

// readFile reads a file and nothing else: opening a pipe would wait for whoever writes to it.
func readFile(path string) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is no file", path)
	case info.Size() > maxFile:
		return nil, fmt.Errorf("%s has %d bytes, and %d are allowed", path, info.Size(), maxFile)
	}
	return io.ReadAll(io.LimitReader(f, maxFile))
}

// decodeSettings reads a NAME.json; nothing at all means nothing to set. Its error is ErrRequest.
func decodeSettings(text []byte) (s fileSettings, err error) {
	if len(text) == 0 {
		return s, nil
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&s); err != nil {
		return fileSettings{}, fmt.Errorf(`%w: it must be like {"config": {"max_age": "2s"}, "order": 10}: %w`, ErrRequest, err)
	}
	if _, err := d.Token(); err != io.EOF {
		return fileSettings{}, fmt.Errorf("%w: more follows after the settings", ErrRequest)
	}
	return s, nil
}

// hash changes with what any of the files holds.
func (f *policyFile) hash() string {
	return store.Digest([]byte(store.Digest(f.wasm) + store.Digest(f.rawText) + store.Digest(f.signature)))
}

// unchanged reports whether what was read is what was seen.
func (f *policyFile) unchanged(dir, stamp string) error {
	if stampPolicy(dir, f.name) != stamp {
		return fmt.Errorf("%s%s changed while it was read", f.name, wasmSuffix)
	}
	return nil
}
