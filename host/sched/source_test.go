package sched_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
)

// Time and luck are handed in, so that a wall clock that jumps moves nothing here, and a replay decides as the live scheduler did.
func TestTheSchedulerReadsNoClockAndDrawsNothing(t *testing.T) {
	constants := map[string]bool{"Nanosecond": true, "Microsecond": true, "Millisecond": true, "Second": true, "Minute": true, "Duration": true}
	files, err := filepath.Glob("*.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("no sources: %v", err)
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range file.Imports {
			if path := strings.Trim(i.Path.Value, `"`); strings.HasPrefix(path, "math/rand") || path == "crypto/rand" || path == "os" || path == "hash/maphash" {
				t.Errorf("%s imports %s", name, path)
			}
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok {
				if x, ok := s.X.(*ast.Ident); ok && x.Name == "time" && x.Obj == nil && !constants[s.Sel.Name] {
					t.Errorf("%s uses time.%s", name, s.Sel.Name)
				}
			}
			_, goes := n.(*ast.GoStmt)
			if goes {
				t.Errorf("%s starts a goroutine", name)
			}
			return true
		})
	}
}
