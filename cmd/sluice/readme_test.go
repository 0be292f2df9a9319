package main

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// What the README shows of a replay is what that command prints.
func TestTheReplayInTheREADMEIsTrue(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir("../..")
	_, after, _ := strings.Cut(string(readme), "$ bin/sluice replay --trace examples/traces/")
	block, _, _ := strings.Cut(after, "\n\n")
	lines := strings.Split(block, "\n")
	code, out, stderr := runHere(append([]string{"replay", "--trace"}, strings.Fields("examples/traces/"+lines[0])...)...)
	if code != 0 {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	shown := 0
	for _, line := range lines {
		if !strings.HasPrefix(strings.TrimSpace(line), "all") {
			continue
		}
		shown++
		first, last, _ := strings.Cut(line, "...")
		if !slices.ContainsFunc(strings.Split(out, "\n"), func(row string) bool {
			row = strings.Join(strings.Fields(row), " ")
			return strings.HasPrefix(row, strings.Join(strings.Fields(first), " ")) && strings.HasSuffix(row, strings.Join(strings.Fields(last), " "))
		}) {
			t.Errorf("the README shows %q; the replay says:\n%s", line, out)
		}
	}
	if shown != 3 {
		t.Errorf("the README shows %d rows", shown)
	}
}
