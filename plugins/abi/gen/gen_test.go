package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestNothingGeneratedIsStale(t *testing.T) {
	t.Chdir("../../..")
	if err := run(true); err != nil {
		t.Error(err)
	}
}

func TestLayoutsAreNaturallyAligned(t *testing.T) {
	s := load(t, `
structs:
  - name: Inner
    fields: [{name: a, type: u8}, {name: b, type: i64}]
  - name: Outer
    fields: [{name: valid, type: u64}, {name: x, type: u8}, {name: y, type: "[3]u16", optional: true}, {name: z, type: "[2]Inner", optional: true}]
`)
	outer := s.Structs[1]
	for i, want := range []struct{ offset, size, bit int }{{0, 8, -1}, {8, 1, -1}, {10, 6, 0}, {16, 32, 1}} {
		f := outer.Fields[i]
		if f.Offset != want.offset || f.Size != want.size || f.Bit != want.bit {
			t.Errorf("field %s: offset %d, size %d, bit %d; want %+v", f.Name, f.Offset, f.Size, f.Bit, want)
		}
	}
	if outer.Size != 48 {
		t.Errorf("size %d, want 48", outer.Size)
	}
}

func TestMistakesInTheSchemaAreNamed(t *testing.T) {
	for says, text := range map[string]string{
		"unknown type":   "structs: [{name: A, fields: [{name: x, type: f32}]}]",
		"bad array type": "structs: [{name: A, fields: [{name: x, type: \"[n]u8\"}]}]",
		"defined twice":  "structs: [{name: A, fields: [{name: x, type: u8}, {name: x, type: u8}]}]",
		"valid":          "structs: [{name: A, fields: [{name: x, type: u8, optional: true}]}]",
		"no enum":        "structs: [{name: A, fields: [{name: x, type: u8, enum: B}]}]",
		"unknown field":  "structs: [{name: A, colour: red}]",
	} {
		if _, err := Load(write(t, text)); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", says, err)
		}
	}
}

func load(t *testing.T, text string) *Schema {
	t.Helper()
	s, err := Load(write(t, text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func write(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "abi.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// A guest that was built for an earlier minor version must find everything where that version put it.
func TestEarlierMinorVersionsKeepTheirPromises(t *testing.T) {
	s, err := Load("../abi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	have := map[string]bool{}
	for line := range strings.Lines(string(promise(s))) {
		have[line] = true
	}
	for minor := range s.Minor {
		text, err := os.ReadFile(fmt.Sprintf("../testdata/v%d.%d.txt", s.Major, minor))
		if err != nil {
			t.Fatalf("read what version %d.%d promised (write it with `go run ./plugins/abi/gen --promise` before the minor version rises): %v", s.Major, minor, err)
		}
		for line := range strings.Lines(string(text)) {
			if !have[line] && !strings.Contains(line, ".reserved ") {
				t.Errorf("version %d.%d promised %s", s.Major, minor, line)
			}
		}
	}
}
