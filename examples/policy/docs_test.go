package main

import (
	"os"
	"strings"
	"testing"
)

// The page for policy authors shows this program and its first test. What it shows must be what compiles here.
func TestThePageShowsThisProgram(t *testing.T) {
	page, err := os.ReadFile("../../docs/policies.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := strings.Split(string(page), "```go\n")
	if len(blocks) != 3 {
		t.Fatalf("%d blocks of Go on the page, and 2 are checked here", len(blocks)-1)
	}
	for i, file := range []string{"main.go", "main_test.go"} {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		block, _, _ := strings.Cut(blocks[i+1], "```")
		if !strings.HasPrefix(string(source), block) {
			t.Errorf("the page's block %d is not the start of %s", i+1, file)
		}
	}
}
