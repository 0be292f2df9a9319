package shipped

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Flags are the arguments of `go build` that every policy is built with. The first two make the module the same on every
// machine, the last ones leave out what only a debugger reads.
func Flags() []string {
	return []string{"-trimpath", "-buildvcs=false", "-buildmode=c-shared", "-ldflags=-s -w"}
}

// Build compiles the policy in pkg, a directory or import path relative to root, into the file out.
func Build(ctx context.Context, root, pkg, out string, more ...string) error {
	args := append([]string{"build"}, Flags()...)
	args = append(append(args, more...), "-o", out, pkg)
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "CGO_ENABLED=0")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("build policy %s: %w\n%s", pkg, err, stderr.String())
	}
	return nil
}

// Stale lists the policies whose module is missing, was changed, or was built from other sources.
func Stale(root string) (names []string, err error) {
	built, err := readRecords(root)
	if err != nil {
		return nil, err
	}
	for _, name := range Names() {
		now, err := current(root, name)
		if err != nil {
			return nil, err
		}
		was := built[name]
		if was.sources != now.sources || was.module != now.module {
			names = append(names, name)
		}
	}
	return names, nil
}

// Update builds what is stale, tells say what it does, and records it.
func Update(ctx context.Context, root string, say func(string)) error {
	stale, err := Stale(root)
	if err != nil || len(stale) == 0 {
		return err
	}
	built, err := readRecords(root)
	if err != nil {
		return err
	}
	for _, name := range stale {
		say("build policy " + name)
		if err := replace(ctx, root, name); err != nil {
			return err
		}
		if built[name], err = current(root, name); err != nil {
			return err
		}
	}
	return writeRecords(root, built)
}

// replace builds beside the module and then renames: a build that fails leaves the old one.
func replace(ctx context.Context, root, name string) error {
	module := Module(root, name)
	fresh := module + ".new"
	defer os.Remove(fresh)
	if err := Build(ctx, root, "./policies/"+name, fresh); err != nil {
		return err
	}
	if err := os.Chmod(fresh, 0o644); err != nil {
		return fmt.Errorf("build policy %s: %w", name, err)
	}
	if err := os.Rename(fresh, module); err != nil {
		return fmt.Errorf("build policy %s: %w", name, err)
	}
	return nil
}

func recordsFile(root string) string { return filepath.Join(root, "policies", "built.txt") }

// readRecords reads built.txt: a policy a line, in words.
func readRecords(root string) (map[string]record, error) {
	text, err := os.ReadFile(recordsFile(root))
	if err != nil && !os.IsNotExist(err) {
		return nil, fmt.Errorf("read the record of built policies: %w", err)
	}
	built := map[string]record{}
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) == 4 && f[0] != "#" {
			built[f[0]] = record{f[0], f[1], f[2], f[3]}
		}
	}
	return built, nil
}

func writeRecords(root string, built map[string]record) error {
	var b strings.Builder
	b.WriteString("# Written by policies/build. A policy, the digest of its sources and of its module, and the Go release that built it.\n")
	for _, name := range Names() {
		r := built[name]
		fmt.Fprintln(&b, r.name, r.sources, r.module, r.toolchain)
	}
	if err := os.WriteFile(recordsFile(root), []byte(b.String()), 0o644); err != nil {
		return fmt.Errorf("record the built policies: %w", err)
	}
	return nil
}
