package sluice_test

import (
	"go/parser"
	"go/token"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// allowedImports keep the SDK small, and buildable with TinyGo: nothing that leans on reflection, and no goroutines.
var allowedImports = []string{"cmp", "errors", "os", "runtime", "slices", "unicode/utf8", "unsafe"}

func TestTheSDKImportsLittle(t *testing.T) {
	files, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, f := range files {
		if !strings.HasSuffix(f.Name(), ".go") || strings.HasSuffix(f.Name(), "_test.go") {
			continue
		}
		seen++
		text, err := os.ReadFile(f.Name())
		if err != nil {
			t.Fatal(err)
		}
		file, err := parser.ParseFile(token.NewFileSet(), f.Name(), text, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range file.Imports {
			path, err := strconv.Unquote(i.Path.Value)
			if err != nil || !slices.Contains(allowedImports, path) {
				t.Errorf("%s imports %s", f.Name(), i.Path.Value)
			}
		}
		if strings.Contains(string(text), "\tgo func") {
			t.Errorf("%s starts a goroutine", f.Name())
		}
	}
	if seen < 10 {
		t.Errorf("only %d files were read", seen)
	}
}
