package project

import (
	"context"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// pollEvery is how often a folder is looked at.
const pollEvery = 300 * time.Millisecond

// notSource are the folders that toolchains write.
var notSource = []string{"target", "node_modules", "build", sdkDir}

// Stamp sums up the sources in the folders and files: it differs when one of them was added, removed or changed. Modules and
// what toolchains write do not count.
func Stamp(paths ...string) (string, error) {
	var b strings.Builder
	for _, p := range paths {
		err := filepath.WalkDir(p, func(file string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case d.IsDir() && file != p && (slices.Contains(notSource, d.Name()) || strings.HasPrefix(d.Name(), ".")):
				return fs.SkipDir
			case d.IsDir() || file != p && (strings.HasSuffix(file, ".wasm") || strings.HasPrefix(d.Name(), ".")):
				return nil
			}
			info, err := d.Info()
			if err != nil {
				return err
			}
			fmt.Fprintln(&b, file, info.Size(), info.ModTime().UnixNano())
			return nil
		})
		if err != nil {
			return "", fmt.Errorf("look at the sources: %w", err)
		}
	}
	return b.String(), nil
}

// Watch calls do at once and after every change of the sources, until ctx ends.
func Watch(ctx context.Context, do func(), paths ...string) error {
	last, err := Stamp(paths...)
	if err != nil {
		return err
	}
	for do(); ; {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(pollEvery):
		}
		now, err := Stamp(paths...)
		if err != nil || now == last { // an error is a file that is being replaced: look again
			continue
		}
		last = now
		do()
	}
}
