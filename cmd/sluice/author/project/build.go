package project

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Built is a module that a toolchain made.
type Built struct {
	Language string `json:"language"`
	Command  string `json:"command"` // that made it, as one would type it in the folder
	File     string `json:"file"`
	Bytes    int    `json:"bytes"`
	Digest   string `json:"digest"` // sha256, hex
}

// ErrToolchain is in the chain of the error when the language's toolchain is not installed.
var ErrToolchain = errors.New("the toolchain is missing")

// plan is one build.
type plan struct {
	dir  string
	out  string // absolute; the module's file
	args []string
	env  []string // beside the process's
	made string   // a pattern below dir of what the toolchain writes; "" when it writes out itself
}

// Build builds the policy in dir. The module is written to out; "" = the policy's name with .wasm, in the folder. Commands and
// what they print go to say.
func Build(ctx context.Context, dir, out string, say io.Writer) (*Built, error) {
	l, err := Detect(dir)
	if err != nil {
		return nil, err
	}
	if out == "" {
		out = filepath.Join(dir, l.name(dir)+".wasm")
	}
	p, err := newPlan(l, dir, out)
	if err != nil {
		return nil, err
	}
	if _, err := exec.LookPath(l.tool); err != nil {
		return nil, fmt.Errorf("build policy in %s: %w: %s is not in the PATH; %s", l.Title, ErrToolchain, l.tool, l.install)
	}
	fmt.Fprintf(say, "%s\n", p.command())
	if err := p.run(ctx, l, say); err != nil {
		return nil, err
	}
	wasm, err := os.ReadFile(p.out)
	if err != nil {
		return nil, fmt.Errorf("read what was built: %w", err)
	}
	sum := sha256.Sum256(wasm)
	return &Built{l.Name, p.command(), out, len(wasm), hex.EncodeToString(sum[:])}, nil
}

func newPlan(l *Language, dir, out string) (*plan, error) {
	p := &plan{dir: dir}
	var err error
	if p.out, err = filepath.Abs(out); err != nil {
		return nil, fmt.Errorf("build policy: %w", err)
	}
	l.build(p)
	return p, nil
}

// Module is where Build writes the module of the policy in dir when nothing else is said.
func Module(dir string) (string, error) {
	l, err := Detect(dir)
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, l.name(dir)+".wasm"), nil
}

// command is the build as one would type it.
func (p *plan) command() string {
	words := append([]string{}, p.env...)
	for _, a := range p.args {
		if strings.ContainsAny(a, " \t'\"$*") {
			a = "'" + strings.ReplaceAll(a, "'", `'\''`) + "'"
		}
		words = append(words, a)
	}
	return strings.Join(words, " ")
}

func (p *plan) run(ctx context.Context, l *Language, say io.Writer) error {
	cmd := exec.CommandContext(ctx, p.args[0], p.args[1:]...)
	cmd.Dir, cmd.Env = p.dir, append(os.Environ(), p.env...)
	var said bytes.Buffer
	cmd.Stdout = io.MultiWriter(say, &said)
	cmd.Stderr = cmd.Stdout
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if hint := missingPart(said.String()); hint != "" {
			return fmt.Errorf("build policy in %s: %w: %s", l.Title, ErrToolchain, hint)
		}
		return fmt.Errorf("build policy in %s: %s: %w", l.Title, p.args[0], err)
	}
	if p.made == "" {
		return nil
	}
	return p.collect()
}

// missingPart says what to install when the toolchain itself said that a part of it is not there.
func missingPart(said string) string {
	for _, part := range []struct{ sign, hint string }{
		{"the `wasm32-unknown-unknown` target may not be installed", "run rustup target add wasm32-unknown-unknown"},
		{"asc: not found", "run npm install in the folder"},
		{"clang: not found", "install clang (Debian: apt install clang lld)"},
		{"clang: No such file", "install clang (Debian: apt install clang lld)"},
		{"unable to execute command: Executable \"wasm-ld", "install lld (Debian: apt install lld)"},
	} {
		if strings.Contains(said, part.sign) {
			return part.hint
		}
	}
	return ""
}

// collect copies the one module that matches what the toolchain writes.
func (p *plan) collect() error {
	found, err := filepath.Glob(filepath.Join(escape(p.dir), p.made))
	if err != nil {
		return fmt.Errorf("look for the module: %w", err)
	}
	newest := ""
	var at int64
	for _, f := range found {
		if info, err := os.Stat(f); err == nil && (newest == "" || info.ModTime().UnixNano() > at) {
			newest, at = f, info.ModTime().UnixNano()
		}
	}
	if newest == "" {
		return fmt.Errorf("look for the module: %s made no %s", p.args[0], p.made)
	}
	if abs, err := filepath.Abs(newest); err == nil && abs == p.out {
		return nil
	}
	wasm, err := os.ReadFile(newest)
	if err != nil {
		return fmt.Errorf("read the module: %w", err)
	}
	return writeFile(p.out, wasm)
}

// goBuild keeps the functions' names, 2 % of the module: errors and reports are written with them.
func goBuild(p *plan) {
	p.env = []string{"GOOS=wasip1", "GOARCH=wasm", "CGO_ENABLED=0"}
	p.args = []string{"go", "build", "-trimpath", "-buildvcs=false", "-buildmode=c-shared", "-o", p.rel(), "."}
}

// rel is the module's path as seen from the folder.
func (p *plan) rel() string {
	if abs, err := filepath.Abs(p.dir); err == nil {
		if rel, err := filepath.Rel(abs, p.out); err == nil {
			return rel
		}
	}
	return p.out
}

func rustBuild(p *plan) {
	p.args = []string{"cargo", "build", "--release", "--offline", "--target", "wasm32-unknown-unknown", "--target-dir", "target"}
	p.made = "target/wasm32-unknown-unknown/release/*.wasm"
}

func npmBuild(p *plan) {
	p.args = []string{"npm", "run", "build"}
	p.made = "*.wasm"
}

func makeBuild(p *plan) {
	p.args = []string{"make", "--no-print-directory"}
	p.made = "*.wasm"
}
