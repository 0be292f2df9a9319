package sluice_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"testing"
)

var update = flag.Bool("update", false, "write ../vectors instead of comparing with it")

// checkVectors compares what this SDK does with a file that all SDKs must reproduce.
func checkVectors(t *testing.T, name string, now []byte) {
	t.Helper()
	file := "../vectors/" + name
	if *update {
		if err := os.WriteFile(file, now, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	was, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(was, now) {
		a, b := bytes.Split(was, []byte("\n")), bytes.Split(now, []byte("\n"))
		for i := range min(len(a), len(b)) {
			if !bytes.Equal(a[i], b[i]) {
				t.Fatalf("%s:%d differs (go test ./sdk/go -run Vectors -update writes it anew)\nfile %s\nnow  %s", file, i+1, a[i], b[i])
			}
		}
		t.Fatalf("%s has %d lines, and should have %d", file, len(a), len(b))
	}
}

// vector is one line: a helper, its parameters, and steps of integers.
type vector struct {
	name   string
	params []int64
	steps  [][]int64
}

func (v *vector) step(integers ...int64) { v.steps = append(v.steps, integers) }

func (v *vector) write(b *bytes.Buffer) {
	fmt.Fprintf(b, "%s", v.name)
	for _, p := range v.params {
		fmt.Fprintf(b, " %d", p)
	}
	fmt.Fprintf(b, " %d", len(v.steps))
	for _, s := range v.steps {
		for _, x := range s {
			fmt.Fprintf(b, " %d", x)
		}
	}
	b.WriteByte('\n')
}

func bit(b bool) int64 {
	if b {
		return 1
	}
	return 0
}
