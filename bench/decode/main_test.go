package main

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/sluice-dev/sluice/gpu/llama"
)

func TestCommandPrintsTableAndJSON(t *testing.T) {
	libs, _, model, err := llama.DefaultPaths()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []string{libs, model} {
		if _, err := os.Stat(p); err != nil {
			if os.Getenv("SLUICE_REQUIRE_MODEL") != "" {
				t.Fatalf("%v: run make setup", err)
			}
			t.Skipf("%v: run make setup to test on the real model", err)
		}
	}
	small := []string{"--threads", "1", "--streams", "1,3", "--tokens", "4", "--prompt", "8", "--prefill", "16", "--repeat", "1"}
	var out, errs bytes.Buffer
	if code := run(append(small, "--json"), &out, &errs); code != 0 {
		t.Fatalf("exit %d: %s", code, errs.String())
	}
	var r report
	if err := json.Unmarshal(out.Bytes(), &r); err != nil {
		t.Fatal(err)
	}
	if len(r.Decode) != 2 || r.Decode[1].Streams != 3 || r.Decode[1].Tokens != 12 || r.Decode[1].TokensPerSecond <= 0 || r.Prefill.Tokens != 16 || r.Device != "cpu" {
		t.Errorf("%s", out.String())
	}
	out.Reset()
	if code := run(append(small, "--kv", "split"), &out, &errs); code != 0 || strings.Count(out.String(), "decode") != 2 || strings.Count(out.String(), "prefill ") != 1 {
		t.Errorf("exit %d: %s%s", code, out.String(), errs.String())
	}
}

func TestWrongUseExitsWith2(t *testing.T) {
	for _, args := range [][]string{{"--streams", "0"}, {"--streams", "x"}, {"--nonsense"}, {"more"}, {"--repeat", "0"}, {"--model", "/nowhere.gguf"}} {
		var out, errs bytes.Buffer
		if code := run(args, &out, &errs); code != 2 || errs.Len() == 0 || out.Len() != 0 {
			t.Errorf("%v: exit %d, %q, %q", args, code, out.String(), errs.String())
		}
	}
}
