package sched_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/sluice-dev/sluice/host/sched"
	"github.com/sluice-dev/sluice/plugins/abi"
)

var update = flag.Bool("update", false, "write what the scripts print as what they should print")

// TestScripts runs testdata/*.txt. A script is made of cases: an English sentence of intent behind #, commands one a line,
// a line of dashes, and what they print. Times are in ms.
//
//	config seats=2 batch=16 blocks=8 block=4 context=64 drafts=0 ...
//	policy NAME                      put one of the policies below in charge
//	arrive id=1 prompt=8 max=4 [class= priority= ttl= deadline= bytes= now=]
//	tick|plan|complete|step [now=]   step is plan and complete with one token a sampling row
//	cancel id=1                      the client goes away
//	drain|pause|resume               refuse arrivals; start no step; go on
//	ended|show|notices               who ended and how; who waits and runs; what an operator should hear
//	refused                          how many were refused, by class, reason and limit
func TestScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) { runScript(t, file) })
	}
}

func runScript(t *testing.T, file string) {
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	s := &script{t: t, cfg: sched.DefaultConfig(2, 16, 64, 64)}
	for _, part := range strings.Split(strings.TrimSpace(string(text)), "\n\n") {
		input, want, _ := strings.Cut(part, "\n----")
		got := s.run(input)
		fmt.Fprintf(&out, "%s\n----%s\n\n", input, got)
		if got != want && !*update {
			t.Errorf("%s:\n%s\n---- got:%s\n---- want:%s", file, input, got, want)
		}
	}
	if *update {
		if err := os.WriteFile(file, []byte(strings.TrimSpace(out.String())+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

type script struct {
	t      *testing.T
	cfg    sched.Config
	core   *sched.Core
	policy abi.Decider
	now    int64
	flying *sched.Batch
	out    strings.Builder
}

func (s *script) run(input string) string {
	s.out.Reset()
	for _, line := range strings.Split(input, "\n") {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			s.do(strings.Fields(line))
		}
		if s.core != nil {
			if err := s.core.Check(); err != nil {
				s.t.Fatalf("after %q: %v", line, err)
			}
		}
	}
	return strings.TrimRight("\n"+s.out.String(), "\n")
}

func (s *script) do(words []string) {
	arg := map[string]int{}
	for _, w := range words[1:] {
		if k, v, ok := strings.Cut(w, "="); ok {
			n, err := strconv.Atoi(v)
			if err != nil {
				s.t.Fatalf("%v: %v", words, err)
			}
			arg[k] = n
		}
	}
	if v, ok := arg["now"]; ok {
		s.now = int64(v) * 1e6
	}
	if s.core == nil && words[0] != "config" && words[0] != "policy" {
		s.start()
	}
	switch words[0] {
	case "config":
		s.configure(arg)
	case "policy":
		s.policy = policies[words[1]]
		if s.core != nil {
			s.core.SetPolicies(s.policy, 1)
		}
	case "arrive":
		s.arrive(arg)
	case "tick":
		s.core.Tick(s.now)
	case "plan":
		s.plan()
	case "complete":
		s.complete()
	case "step":
		if s.plan(); s.flying != nil {
			s.complete()
		}
	case "cancel":
		s.core.Cancel(s.now, uint64(arg["id"]), sched.OutcomeCancelledRunning)
	case "drain":
		s.core.SetHostState(s.now, abi.HostStateDraining)
	case "pause":
		s.core.SetHostState(s.now, abi.HostStatePaused)
	case "resume":
		s.core.SetHostState(s.now, abi.HostStateRunning)
	case "notices":
		for _, n := range s.core.TakeNotices() {
			fmt.Fprintf(&s.out, "%v: request %d of class %d, %s by %d, %d times\n", n.Kind, n.ID, n.Class, noticeValue(n), n.By, n.Times)
		}
	case "ended":
		s.ended()
	case "show":
		st := s.core.Stats()
		fmt.Fprintf(&s.out, "waiting %d, running %d, blocks %d, preemptions %d, forced %d\n", s.core.Waiting(), s.core.Running(), s.core.BlocksUsed(), st.Preemptions, st.Forced)
	case "refused":
		for class, k := range s.core.Stats().Refused {
			for reason, n := range k.ByReason {
				if n > 0 {
					fmt.Fprintf(&s.out, "class %d: %d %v\n", class, n, abi.Reason(reason))
				}
			}
			for i, n := range k.ByLimit {
				if n > 0 {
					fmt.Fprintf(&s.out, "class %d: %d by %s\n", class, n, sched.Limits()[i])
				}
			}
		}
	default:
		s.t.Fatalf("unknown command %q", words[0])
	}
}

// noticeValue is the value in its unit: ms but for what can never fit.
func noticeValue(n sched.Notice) string {
	if n.Kind == sched.NoticeInfeasible {
		return fmt.Sprintf("%d tokens, %s,", n.Value, n.Limit)
	}
	return fmt.Sprintf("after %d ms", n.Value/1e6)
}

func (s *script) start() {
	core, err := sched.New(s.cfg, s.policy)
	if err != nil {
		s.t.Fatal(err)
	}
	s.core = core
}

func (s *script) configure(arg map[string]int) {
	s.core, s.flying, s.policy, s.now = nil, nil, nil, 1e6
	s.cfg = sched.DefaultConfig(2, 16, 64, 64)
	for k, v := range arg {
		switch k {
		case "seats":
			s.cfg.MaxSeqs = v
		case "batch":
			s.cfg.MaxBatchTokens = v
		case "blocks":
			s.cfg.Blocks = v
		case "block":
			s.cfg.BlockSize = v
		case "context":
			s.cfg.ContextTokens = v
		case "chunk":
			s.cfg.ChunkTokens = v
		case "drafts":
			s.cfg.MaxDraft = v
		case "waiting":
			s.cfg.MaxWaiting = v
		case "tokens":
			s.cfg.MaxWaitingTokens = v
		case "bytes":
			s.cfg.MaxWaitingBytes = int64(v)
		case "bypass":
			s.cfg.MaxBypass = v
		case "preemptions":
			s.cfg.MaxPreemptions = v
		case "age":
			for i := range s.cfg.AgeAfter {
				s.cfg.AgeAfter[i] = int64(v) * 1e6
			}
		case "rejecting":
			s.cfg.RejectingAfter = int64(v) * 1e6
		case "full", "expired", "late":
			*map[string]*int{"full": &s.cfg.Statuses.QueueFull, "expired": &s.cfg.Statuses.TTL, "late": &s.cfg.Statuses.Deadline}[k] = v
		default:
			s.t.Fatalf("unknown setting %q", k)
		}
	}
}

func (s *script) arrive(arg map[string]int) {
	n := max(1, arg["n"])
	reqs := make([]*sched.Request, n)
	for i := range reqs {
		reqs[i] = &sched.Request{ID: uint64(arg["id"] + i), PromptTokens: arg["prompt"], MaxTokens: arg["max"], Class: uint8(arg["class"]),
			Priority: int32(arg["priority"]), Arrival: s.now, TTL: int64(arg["ttl"]) * 1e6, PromptBytes: arg["bytes"], NoSpec: arg["nospec"] == 1}
		if d := arg["deadline"]; d > 0 {
			reqs[i].Deadline = int64(d) * 1e6
		}
	}
	s.core.Arrive(s.now, reqs...)
}

func (s *script) plan() {
	s.flying = s.core.Plan(s.now)
	if s.flying == nil {
		s.out.WriteString("nothing to run\n")
		return
	}
	for i, r := range s.flying.Rows {
		if i > 0 {
			s.out.WriteString(", ")
		}
		fmt.Fprintf(&s.out, "%d@%d: %d+%d", r.Req.ID, r.Seq, r.Start, r.Tokens)
		if r.Draft > 0 {
			fmt.Fprintf(&s.out, " draft %d", r.Draft)
		}
		if r.Sample {
			s.out.WriteString(" samples")
		}
	}
	s.out.WriteString("\n")
}

func (s *script) complete() {
	res := make([]sched.Result, len(s.flying.Rows))
	for i, r := range s.flying.Rows {
		if r.Sample {
			res[i].Emitted = 1
		}
	}
	s.core.Complete(s.now, res)
	s.flying = nil
}

func (s *script) ended() {
	for _, r := range s.core.TakeEnded() {
		fmt.Fprintf(&s.out, "%d %v %d tokens", r.ID, r.Outcome, r.Generated)
		if r.Verdict.Status != 0 {
			fmt.Fprintf(&s.out, ", %d %v %s retry %ds", r.Verdict.Status, r.Verdict.Reason, r.Verdict.Limit, r.Verdict.RetryAfter/1e9)
		}
		s.out.WriteString("\n")
	}
}
