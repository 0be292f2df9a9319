package plugins_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/sluice-dev/sluice/plugins"
	"github.com/sluice-dev/sluice/plugins/abi"
	"github.com/sluice-dev/sluice/plugins/internal/guesttest"
)

// candidate prepares a policy that the test's end frees.
func (r *rig) candidate(wasm []byte) *plugins.Candidate {
	r.t.Helper()
	c, err := r.Prepare(background, "candidate", wasm, nil)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(c.Close)
	return c
}

func TestAReportSaysWhatACandidateIsAndWhatItsTestsCost(t *testing.T) {
	r := newRig(t, plugins.Options{Inline: true})
	m := guesttest.Module{
		Imports: []guesttest.Func{{Export: "sluice.metric", Params: "il"}},
		Start:   guesttest.Seq(guesttest.I32(3), guesttest.Grow, guesttest.Drop),
		Funcs: []guesttest.Func{guesttest.Admit(1), guesttest.Hook(abi.ExportBatchCap, guesttest.I32(1)),
			guesttest.Hook(abi.ExportEvents, guesttest.I32(1))},
		Descriptor: func(d *abi.Descriptor) { d.Reads = uint32(abi.GroupSpeed | abi.GroupSLO) },
	}
	c := r.candidate(m.Bytes())
	got := c.Report()
	if got.Digest != c.Info().Digest || got.ABIMinor != abi.Minor || strings.Join(got.Hooks, " ") != "admit batch_cap events" ||
		strings.Join(got.Reads, " ") != "speed slo" || strings.Join(got.Imports, " ") != "sluice.metric" || got.Pages != 5 {
		t.Errorf("got %+v", got)
	}
	if got.StartFuel < 3*1024 || got.StartFuel > 4*1024 || got.LoadLimit != plugins.LeanBudget.Load {
		t.Errorf("its start took %d of %d, want three pages' charge and little else", got.StartFuel, got.LoadLimit)
	}
	if len(got.Tests) != 9 {
		t.Fatalf("%d tests, want three hooks on three states: %+v", len(got.Tests), got.Tests)
	}
	for i, want := range []plugins.Tested{
		{Hook: "admit", State: "an idle server", Rows: 1, Outcome: "decided", Budget: 304_000},
		{Hook: "batch_cap", State: "an idle server", Outcome: "abstained", Budget: 300_000},
		{Hook: "events", State: "an idle server", Rows: 1, Outcome: "abstained", Budget: 304_000},
		{Hook: "admit", State: "a busy server", Rows: 32, Outcome: "decided", Budget: 428_000},
	} {
		fuel := got.Tests[i].Fuel
		got.Tests[i].Fuel = 0
		if got.Tests[i] != want || fuel <= 0 || fuel > 10_000 {
			t.Errorf("test %d: %+v with %d units, want %+v", i, got.Tests[i], fuel, want)
		}
	}
}

func TestACandidateIsTestedOnTheLastRealCalls(t *testing.T) {
	r := newRig(t, plugins.Options{Inline: true})
	r.push("p", guesttest.Admitter(1))
	states := func(c *plugins.Candidate) (names []string) {
		for _, x := range c.Report().Tests[3:] { // after the made-up ones
			names = append(names, x.State)
		}
		return names
	}
	if got := states(r.candidate(guesttest.Admitter(2))); len(got) != 0 {
		t.Errorf("before any call: %v", got)
	}
	set := r.step()
	for i := range uint64(100) { // 100 ms apart: a call is kept every 300 ms
		st := &abi.State{Size: abi.StateSize, StepID: i, NowNS: int64(i) * second / 10, WaitingRequests: uint32(i)}
		set.Admit(st, numbered(1+int(i)), make([]abi.Verdict, 1+i), make([]abi.PolicyID, 1+i))
	}
	c := r.candidate(guesttest.Admitter(2))
	if got := strings.Join(states(c), ", "); got != "step 93 of this server, step 96 of this server, step 99 of this server" {
		t.Errorf("tested on %s", got)
	}
	if last := c.Report().Tests[5]; last.Rows != 100 || last.Hook != "admit" || last.Outcome != "decided" {
		t.Errorf("the last test is %+v", last)
	}
	_, err := r.Prepare(background, "p", guesttest.Breaker(3, 96, guesttest.Forever()), nil)
	wants(t, err, plugins.StageSelfTest, "step 96 of this server", "out of fuel", "budget")
}

func TestARefusalCarriesWhatTheTestsHadFound(t *testing.T) {
	r := newRig(t, plugins.Options{})
	cases := map[string]struct {
		wasm []byte
		want func(plugins.Report) bool
	}{
		"at the last test": {guesttest.Breaker(1, 256, guesttest.Unreachable), func(r plugins.Report) bool {
			return len(r.Tests) == 3 && r.Tests[2].Outcome == "trap" && r.Tests[1].Outcome == "decided" && r.Pages == 2
		}},
		"for its output": {guesttest.Policy(guesttest.Hook(abi.ExportAdmit, guesttest.Put8(guesttest.OutPtr, 9), guesttest.I32(0))), func(r plugins.Report) bool {
			return len(r.Tests) == 1 && r.Tests[0].Outcome == "bad_output"
		}},
		"for its return": {guesttest.Policy(guesttest.Hook(abi.ExportAdmit, guesttest.I32(3))), func(r plugins.Report) bool {
			return len(r.Tests) == 1 && r.Tests[0].Outcome == "bad_return"
		}},
		"for its cost": {guesttest.Policy(guesttest.Hook(abi.ExportAdmit, guesttest.Forever(), guesttest.I32(3))), func(r plugins.Report) bool {
			return len(r.Tests) == 1 && r.Tests[0].Outcome == "out_of_fuel" && r.Tests[0].Fuel > r.Tests[0].Budget
		}},
		"for its imports": {guesttest.Module{Imports: []guesttest.Func{{Export: "env.abort"}}, Funcs: []guesttest.Func{guesttest.Admit(1)}}.Bytes(), func(r plugins.Report) bool {
			return len(r.Tests) == 0 && strings.Join(r.Imports, "") == "env.abort" && r.StartFuel == 0
		}},
	}
	for name, c := range cases {
		err := r.Push(background, "p", c.wasm, nil)
		var refused *plugins.RefusedError
		if !errors.As(err, &refused) || refused.Report.Digest != refused.Digest || !c.want(refused.Report) {
			text, _ := json.Marshal(refused)
			t.Errorf("refused %s: %v: %s", name, err, text)
		}
	}
}

func TestReportsRepeatThemselves(t *testing.T) {
	text := func() string {
		r := newRig(t, plugins.Options{Inline: true})
		r.push("p", guesttest.Admitter(1))
		r.admit(3, 5)
		b, err := json.Marshal(r.candidate(counting(1)).Report())
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	if a, b := text(), text(); a != b || !strings.Contains(a, `"outcome":"decided"`) {
		t.Errorf("two reports of the same:\n%s\n%s", a, b)
	}
}
