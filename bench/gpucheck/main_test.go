package main

import (
	"bytes"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/sluice-dev/sluice/gpu/llama"
)

// In a split cache on the CPU drafts change no text at all, so the whole check has a known answer there.
func TestTheCheckOnTheCPU(t *testing.T) {
	libs, _, fast, err := llama.DefaultPaths()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(fast); err != nil {
		if os.Getenv("SLUICE_REQUIRE_MODEL") != "" {
			t.Fatal(err)
		}
		t.Skipf("%v: run make setup to test on the real model", err)
	}
	s, err := parse([]string{"--device", "cpu", "--threads", "1", "--kv", "split", "--streams", "1,3", "--tokens", "20", "--model", fast, "--llama-lib", libs})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := run(s, &out); err != nil {
		t.Fatal(err)
	}
	if !regexp.MustCompile(`(?m)^1 .* \d+/[1-9]\d* +1/1 +-$`).Match(out.Bytes()) || !regexp.MustCompile(`(?m)^3 .* \d+/[1-9]\d* +3/3 +-$`).Match(out.Bytes()) {
		t.Errorf("%s", out.String())
	}
}

func TestCompareSaysWhereTextsPart(t *testing.T) {
	for _, c := range []struct {
		a, b  []string
		equal int
		says  string
	}{
		{[]string{"x", "y"}, []string{"x", "y"}, 2, ""},
		{[]string{"abc", "abcd", "q"}, []string{"abc", "abxd", "r"}, 1, "stream 1 at byte 2 of 4"},
		{[]string{"abcd"}, []string{"ab"}, 0, "stream 0 at byte 2 of 4"},
	} {
		if equal, says := compare(c.a, c.b); equal != c.equal || says != c.says {
			t.Errorf("%q, %q: %d, %q", c.a, c.b, equal, says)
		}
	}
}

func TestADeviceThatIsNotThereIsAnError(t *testing.T) {
	for args, says := range map[string]string{
		"--streams 0": "--streams", "--streams 1,x": "--streams", "--tokens 1": "--tokens",
	} {
		if _, err := parse(strings.Fields(args)); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", args, err)
		}
	}
	libs, published, _, err := llama.DefaultPaths()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(published); err != nil {
		t.Skip(err)
	}
	s, err := parse([]string{"--device", "CUDA9", "--llama-lib", libs})
	if err != nil {
		t.Fatal(err)
	}
	if err := run(s, new(bytes.Buffer)); err == nil || !strings.Contains(err.Error(), "CUDA9") {
		t.Errorf("a device that is not there: %v", err)
	}
}
