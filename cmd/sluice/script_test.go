package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/sluice-dev/sluice/cmd/sluice/config"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"sluice": main})
}

// The scripts run the real command in processes of their own: what it prints where, and how it exits.
func TestScripts(t *testing.T) {
	cache, err := exec.Command("go", "env", "GOCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(e *testscript.Env) error {
			dir, err := os.Getwd()
			if err != nil {
				return err
			}
			e.Setenv("REPO", dir+"/../..")
			if home, err := os.UserHomeDir(); err == nil { // where Rust's toolchain is, as seen from another home
				e.Setenv("RUSTUP_HOME", cmp.Or(os.Getenv("RUSTUP_HOME"), filepath.Join(home, ".rustup")))
				e.Setenv("CARGO_HOME", cmp.Or(os.Getenv("CARGO_HOME"), filepath.Join(home, ".cargo")))
			}
			e.Setenv("HOME", e.WorkDir)
			e.Setenv("GOCACHE", strings.TrimSpace(string(cache)))
			e.Setenv("GOPROXY", "off") // a new policy builds without any network
			e.Setenv("ONLY_SLUICE", filepath.SplitList(e.Getenv("PATH"))[0])
			e.Values[servedKey] = map[string]*served{}
			return nil
		},
		Condition: installed,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": exits, "serve": startServer, "interrupt": interrupt, "hangup": hangup, "keep": keep, "until": until, "damage": damage,
		},
	})
}

// installed says whether a part is here that is not a program of its own.
func installed(part string) (bool, error) {
	switch part {
	case "asc":
		_, err := os.Stat("../../sdk/assemblyscript/node_modules/.bin/asc")
		return err == nil, nil
	case "wasm32":
		root, err := exec.Command("rustc", "--print", "sysroot").Output()
		if err != nil {
			return false, nil
		}
		_, err = os.Stat(filepath.Join(strings.TrimSpace(string(root)), "lib", "rustlib", "wasm32-unknown-unknown"))
		return err == nil, nil
	case config.RuntimeWasmtime:
		return hasWasmtime, nil
	}
	return false, fmt.Errorf("there is no condition %q", part)
}

// exits CODE COMMAND...: the command ends with that code.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND...")
	}
	err := ts.Exec(args[1], args[2:]...)
	code := "0"
	if err != nil {
		code = codeOf(err)
	}
	if code != args[0] {
		ts.Fatalf("exit code %s (%v), want %s", code, err, args[0])
	}
}

// until PATTERN COMMAND...: repeats the command until its output matches.
func until(ts *testscript.TestScript, neg bool, args []string) {
	pattern := regexp.MustCompile("(?m)" + args[0])
	for {
		ts.Check(ts.Exec(args[1], args[2:]...))
		if pattern.MatchString(ts.ReadFile("stdout")) {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// keep VARIABLE KEY: sets a variable to the number that KEY has in the JSON that the last command printed.
func keep(ts *testscript.TestScript, neg bool, args []string) {
	var all map[string]any
	ts.Check(json.Unmarshal([]byte(ts.ReadFile("stdout")), &all))
	n, ok := all[args[1]].(float64)
	if !ok {
		ts.Fatalf("%s is %v", args[1], all[args[1]])
	}
	ts.Setenv(args[0], strconv.Itoa(int(n)))
}

// damage FOLDER: cuts the newest file of a folder in half, by its name.
func damage(ts *testscript.TestScript, neg bool, args []string) {
	dir := ts.MkAbs(args[0])
	entries, err := os.ReadDir(dir)
	ts.Check(err)
	path := filepath.Join(dir, entries[len(entries)-1].Name())
	info, err := os.Stat(path)
	ts.Check(err)
	ts.Check(os.Truncate(path, info.Size()/2))
}

func codeOf(err error) string {
	var ee *exec.ExitError
	if errors.As(err, &ee) {
		return strconv.Itoa(ee.ExitCode())
	}
	return err.Error()
}
