package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// shipped is the path of a policy that ships.
func shipped(name string) string { return root("policies", name, name+".wasm") }

// TestServeSwapRecordReplay is the whole way: concurrent streams, policies swapped under them, a client that leaves, the
// records of all that, and their replay under another policy.
func TestServeSwapRecordReplay(t *testing.T) {
	s := start(t)
	const clients, tokens = 8, 40
	var wg sync.WaitGroup
	for i := range clients {
		wg.Go(func() {
			var usage string
			n := 0
			err := s.stream(context.Background(), fmt.Sprintf("Client %d counts: one, two,", i), tokens, func(data string) bool {
				n++
				if strings.Contains(data, `"usage":{`) {
					usage = data
				}
				return true
			})
			if err != nil || !strings.Contains(usage, fmt.Sprintf(`"completion_tokens":%d`, tokens)) {
				t.Errorf("client %d: %v, %d events, usage %q", i, err, n, usage)
			}
		})
	}
	leave(t, s)
	for i := range 6 {
		s.cli(t, "policy", "push", shipped("queue-age"), "--set", fmt.Sprintf("max_age=%ds", 60+i))
	}
	refuseBroken(t, s)
	s.cli(t, "policy", "rollback", "queue-age")
	wg.Wait()

	file := filepath.Join(t.TempDir(), "run.jsonl")
	records := exportAll(t, s, file, clients+1)
	outcomes := map[string]int{}
	for _, r := range records {
		outcomes[r.Outcome]++
		if r.Batch.Policy != "tpot-cap" || len(r.Batch.Digest) != 64 || r.Priority.Policy != "class-priority" || len(r.Priority.Digest) != 64 {
			t.Errorf("record %s does not name who decided: %+v %+v", r.ID, r.Batch, r.Priority)
		}
	}
	if outcomes["length"] != clients || outcomes["cancelled_running"] != 1 {
		t.Errorf("outcomes %v", outcomes)
	}
	replayTwice(t, file)
}

// leave starts a long stream, reads some of it, goes away, and waits until its place is free.
func leave(t *testing.T, s *server) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	events := 0
	s.stream(ctx, "This client leaves", 2000, func(string) bool {
		events++
		return events < 3
	})
	cancel()
	if events < 3 {
		t.Errorf("the client that leaves saw %d events", events)
	}
}

func refuseBroken(t *testing.T, s *server) {
	t.Helper()
	before := policyNames(t, s)
	notWasm := filepath.Join(t.TempDir(), "broken.wasm")
	if err := os.WriteFile(notWasm, []byte("no module"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, errs, code := run(t, "policy", "push", notWasm, "--admin", s.admin)
	if code == 0 || !strings.Contains(errs, "refused") && !strings.Contains(strings.ToLower(errs), "wasm") {
		t.Errorf("a file that is no module: exit code %d, %s", code, errs)
	}
	_, errs, code = run(t, "policy", "push", shipped("queue-age"), "--set", "no_such_key=1", "--admin", s.admin)
	if code == 0 || !strings.Contains(errs, "no_such_key") {
		t.Errorf("an unknown setting: exit code %d, %s", code, errs)
	}
	if after := policyNames(t, s); after != before {
		t.Errorf("refused modules changed the policies from %s to %s", before, after)
	}
}

func policyNames(t *testing.T, s *server) string {
	t.Helper()
	var list struct {
		Policies []struct{ Name, Digest string }
	}
	if err := json.Unmarshal([]byte(s.cli(t, "policy", "ls", "--json")), &list); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(list.Policies)
}

// record is the part of a trace record that these tests look at.
type record struct {
	ID       string `json:"id"`
	Outcome  string `json:"outcome"`
	Output   int    `json:"output_tokens"`
	Drafted  int    `json:"drafted"`
	Admit    who    `json:"admit"`
	Priority who    `json:"prioritize"`
	Batch    who    `json:"batch_cap"`
}

type who struct {
	Policy string `json:"policy"`
	Digest string `json:"digest"`
}

// exportAll writes the trace to file once it holds want records: they are written in batches.
func exportAll(t *testing.T, s *server, file string, want int) (records []record) {
	t.Helper()
	for range 100 {
		out := s.cli(t, "trace", "export")
		if records = parse(t, out); len(records) >= want {
			if err := os.WriteFile(file, []byte(out), 0o600); err != nil {
				t.Fatal(err)
			}
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	if len(records) != want {
		t.Fatalf("%d records of %d requests", len(records), want)
	}
	return records
}

func parse(t *testing.T, lines string) (records []record) {
	t.Helper()
	for line := range strings.Lines(lines) {
		var r record
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatalf("trace line %q: %v", line, err)
		}
		records = append(records, r)
	}
	return records
}

func replayTwice(t *testing.T, file string) {
	t.Helper()
	args := []string{"replay", "--trace", file, "--policy", shipped("queue-age") + ":max_age=1ms", "--against", shipped("queue-age"), "--seed", "7", "--json"}
	first, errs, code := run(t, args...)
	if code != 0 {
		t.Fatalf("replay: exit code %d\n%s", code, errs)
	}
	if second, _, _ := run(t, args...); second != first {
		t.Error("two replays with one seed differ")
	}
	args[len(args)-2] = "8"
	table, errs, code := run(t, args[:len(args)-1]...)
	for _, want := range []string{"TTFT", "TPOT", "SLO"} {
		if code != 0 || !strings.Contains(table, want) {
			t.Errorf("replay's table has no %s (exit code %d):\n%s%s", want, code, table, errs)
		}
	}
}

func TestRecordsSurviveKill(t *testing.T) {
	s := start(t, "--no-policies")
	s.complete(t, "One", 4)
	s.complete(t, "Two", 4)
	exportAll(t, s, filepath.Join(t.TempDir(), "x"), 2)
	s.cmd.Process.Signal(syscall.SIGKILL)
	<-s.exited
	out, errs, code := run(t, "trace", "export", "--data", s.data)
	if code != 0 || len(parse(t, out)) != 2 {
		t.Fatalf("after kill -9: exit code %d, %s%s", code, out, errs)
	}
	again := startIn(t, s.data, "--no-policies")
	again.complete(t, "Three", 4)
	exportAll(t, again, filepath.Join(t.TempDir(), "y"), 3)
}

func TestGreedyTextIsTheSameWithAndWithoutSpeculation(t *testing.T) {
	prompts := []string{
		"Repeat: red green blue red green blue red green",
		"def add(a, b):\n    return a + b\n\ndef add(a, b):\n    return",
		"The capital of France is",
	}
	texts := func(args ...string) (out []string, drafted int) {
		s := start(t, args...)
		for _, p := range prompts {
			out = append(out, s.complete(t, p, 64))
		}
		for _, r := range exportAll(t, s, filepath.Join(t.TempDir(), "x"), len(prompts)) {
			drafted += r.Drafted
		}
		return out, drafted
	}
	plain, none := texts("--no-policies", "--config", writeConfig(t, "limits:\n  max_draft: -1\n"))
	for _, k := range []string{"1", "7", "15"} {
		drafts, n := texts("--policy", shipped("spec-off")+":k="+k)
		if n == 0 || none != 0 {
			t.Errorf("k=%s drafted %d tokens, and %d without the policy: the comparison says nothing", k, n, none)
		}
		for i := range prompts {
			if plain[i] != drafts[i] {
				t.Errorf("k=%s: %q goes on as\n%q\nand without drafts as\n%q", k, prompts[i], drafts[i], plain[i])
			}
		}
	}
}

func TestShedWhileWaiting(t *testing.T) {
	s := start(t, "--policy", shipped("queue-age")+":max_age=300ms", "--config", writeConfig(t, "limits:\n  max_seqs: 1\n"))
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	busy := make(chan struct{})
	var once sync.Once
	go s.stream(ctx, "Busy", 4000, func(string) bool { once.Do(func() { close(busy) }); return true })
	<-busy
	code, header, body := s.post(t, "/v1/completions", map[string]any{"prompt": "late", "max_tokens": 4, "stream": true})
	if code != 503 || header.Get("Retry-After") == "" || header.Get("x-sluice-reason") != "queue_age" {
		t.Errorf("a request that waited too long: %d, Retry-After %q, reason %q, %s", code, header.Get("Retry-After"), header.Get("x-sluice-reason"), body)
	}
}

func writeConfig(t *testing.T, yaml string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "sluice.yaml")
	if err := os.WriteFile(file, []byte(yaml), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestInterruptDrains(t *testing.T) {
	s := start(t)
	first := make(chan struct{})
	var once sync.Once
	got := 0
	ended := make(chan error, 1)
	go func() {
		ended <- s.stream(context.Background(), "Going", 60, func(data string) bool {
			once.Do(func() { close(first) })
			if strings.Contains(data, `"finish_reason":"length"`) {
				got++
			}
			return true
		})
	}()
	<-first
	s.cmd.Process.Signal(os.Interrupt)
	if err := <-ended; err != nil || got != 1 {
		t.Errorf("the stream that ran during the drain: %v, %d finish chunks", err, got)
	}
	if err := <-s.exited; err != nil {
		t.Errorf("exit after a drain: %v", err)
	}
}
