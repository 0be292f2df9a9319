package docs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// required is how many faults have a row each, without a gap.
const required = 40

// Every fault up to the last that is required has its row, further ones come in their order, and every test that a row names is there.
func TestFaultsNameTestsThatExist(t *testing.T) {
	text, err := os.ReadFile("FAULTS.md")
	if err != nil {
		t.Fatal(err)
	}
	last := 0
	for _, line := range strings.Split(string(text), "\n") {
		cells := strings.Split(line, "|")
		if len(cells) != 6 {
			continue
		}
		n, err := strconv.Atoi(strings.TrimSpace(cells[1]))
		if err != nil {
			continue // the heading
		}
		if n <= last || n != last+1 && n <= required {
			t.Errorf("fault %d after %d", n, last)
		}
		last = n
		if named(t, "fault "+strconv.Itoa(n), cells[4]) == 0 {
			t.Errorf("fault %d names no test", n)
		}
	}
	if last < required {
		t.Errorf("the last fault is %d, want %d at least", last, required)
	}
}

// Every row of the cases names tests that are there, or says "not possible here" and why.
func TestCasesNameTestsThatExist(t *testing.T) {
	text, err := os.ReadFile("CASES.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(string(text), "\n") {
		cells := strings.Split(line, "|")
		if len(cells) != 5 || !caseRE.MatchString(strings.TrimSpace(cells[1])) {
			continue
		}
		if strings.Contains(cells[2], "not possible here") && strings.TrimSpace(cells[3]) == "-" {
			continue
		}
		if named(t, strings.TrimSpace(cells[1]), cells[3]) == 0 {
			t.Errorf("case %s names no test", cells[1])
		}
	}
}

var caseRE = regexp.MustCompile(`^[QPTSCDGF]-[0-9]+`)

var packageRE = regexp.MustCompile("`([a-z/-]+)` (.*)")

// named counts the tests of a cell: packages with ";" between them, each with its tests.
func named(t *testing.T, what string, cell string) (n int) {
	for _, part := range strings.Split(cell, ";") {
		m := packageRE.FindStringSubmatch(strings.TrimSpace(part))
		if m == nil {
			t.Errorf("%s: %q is not a package and its tests", what, part)
			continue
		}
		tests := testsOf(t, m[1])
		for _, name := range strings.Split(m[2], ",") {
			if name = strings.TrimSpace(name); !tests[name] {
				t.Errorf("%s: package %s has no test %s", what, m[1], name)
			}
			n++
		}
	}
	return n
}

var testRE = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)

func testsOf(t *testing.T, pkg string) map[string]bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", pkg, "*_test.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("package %s has no tests: %v", pkg, err)
	}
	found := map[string]bool{}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range testRE.FindAllStringSubmatch(string(text), -1) {
			found[m[1]] = true
		}
	}
	return found
}
