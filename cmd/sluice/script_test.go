package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
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
			e.Setenv("HOME", e.WorkDir)
			e.Setenv("GOCACHE", strings.TrimSpace(string(cache)))
			e.Setenv("GOPROXY", "off") // a new policy builds without any network
			e.Setenv("ONLY_SLUICE", filepath.SplitList(e.Getenv("PATH"))[0])
			e.Values[servedKey] = map[string]*served{}
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": exits, "serve": startServer, "stop": stopServer,
		},
	})
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
func codeOf(err error) string {
	var ee *exec.ExitError
	if errors.As(err, &ee) {
		return strconv.Itoa(ee.ExitCode())
	}
	return err.Error()
}
