package project

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sluice-dev/sluice/sdk"
)

// sdkDir is where a project has its copy of the SDK.
const sdkDir = "sluice-sdk"

// New makes a folder with a policy that builds, its tests and the SDK, and returns the paths of the files, those of the SDK
// left out. dir must not exist, or be empty; "" is the policy's name. After an error nothing of it is left behind.
func New(lang, name, dir string) (files []string, err error) {
	l, err := find(lang)
	if err != nil {
		return nil, err
	}
	if err := checkName(name); err != nil {
		return nil, err
	}
	if dir == "" {
		dir = name
	}
	existed, err := vacant(dir)
	if err != nil {
		return nil, err
	}
	if files, err = l.write(name, dir); err != nil {
		return nil, errors.Join(fmt.Errorf("make policy %s: %w", name, err), clearOut(dir, existed))
	}
	return files, nil
}

// vacant checks that nothing would be overwritten.
func vacant(dir string) (exists bool, err error) {
	entries, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("make policy: %w", err)
	case len(entries) > 0:
		return false, fmt.Errorf("make policy: %s is not empty; name another folder with --dir", dir)
	}
	return true, nil
}

func clearOut(dir string, existed bool) error {
	if !existed {
		return os.RemoveAll(dir)
	}
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		err = errors.Join(err, os.RemoveAll(filepath.Join(dir, e.Name())))
	}
	return err
}

func (l *Language) write(name, dir string) (files []string, err error) {
	err = copyTree(l.template(), func(string, fs.DirEntry) bool { return true }, func(file string, text []byte) error {
		file = placed(file)
		files = append(files, filepath.Join(dir, file))
		return writeFile(filepath.Join(dir, file), []byte(strings.ReplaceAll(string(text), "__NAME__", name)))
	})
	if err != nil {
		return nil, err
	}
	slices.Sort(files)
	err = copyTree(l.sdk, partOfSDK, func(file string, text []byte) error {
		return writeFile(filepath.Join(dir, sdkDir, file), text)
	})
	if err == nil && l.tidy != nil {
		for file, text := range l.tidy(name) {
			err = errors.Join(err, writeFile(filepath.Join(dir, sdkDir, file), []byte(text)))
		}
	}
	return files, err
}

// placed is where a template's file goes: without .tmpl, and with its dot when it is hidden.
func placed(file string) string {
	file = strings.TrimSuffix(file, ".tmpl")
	if folder, base := path.Split(file); base == "gitignore" {
		return folder + "." + base
	}
	return file
}

// notSDK are the parts of an SDK that a policy needs nothing of.
var notSDK = []string{"template", "testdata", "tests", "test", "examples", "target", "node_modules", "build", "Makefile"}

func partOfSDK(file string, d fs.DirEntry) bool {
	return !slices.Contains(notSDK, d.Name()) && !strings.HasSuffix(file, "_test.go")
}

// copyTree hands the files below root over, by their paths below it.
func copyTree(root string, wanted func(string, fs.DirEntry) bool, take func(file string, text []byte) error) error {
	return fs.WalkDir(sdk.Files, root, func(file string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case file != root && !wanted(file, d):
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		case d.IsDir():
			return nil
		}
		text, err := fs.ReadFile(sdk.Files, file)
		if err != nil {
			return err
		}
		return take(strings.TrimPrefix(file, root+"/"), text)
	})
}

func writeFile(file string, text []byte) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return os.WriteFile(file, text, 0o644)
}

// rustManifest leaves out what the SDK's manifest says of its examples: they are not in the copy.
func rustManifest(string) map[string]string {
	text, _ := fs.ReadFile(sdk.Files, "rust/Cargo.toml")
	head, _, _ := strings.Cut(string(text), "\n# What follows is of no use to a policy")
	return map[string]string{"Cargo.toml": head}
}

// goModule makes the SDK's copy a module of its own: in the repository it is a part of the server's.
func goModule(string) map[string]string {
	return map[string]string{"go.mod": "module github.com/sluice-dev/sluice/sdk/go\n\ngo 1.26\n"}
}
