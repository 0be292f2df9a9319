package plugins_test

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/sluice-dev/sluice/plugins"
	"github.com/sluice-dev/sluice/plugins/abi"
	"github.com/sluice-dev/sluice/plugins/internal/guesttest"
)

func TestTheSteadyStateAllocatesNothing(t *testing.T) {
	for _, policies := range []int{1, 2} {
		for _, x := range exports {
			r := newRig(t, plugins.Options{Inline: true})
			for i := range policies {
				r.push(fmt.Sprint("p", i), guesttest.Policy(guesttest.Hook(x.export, guesttest.I32(0))))
			}
			const n = 64
			st := &abi.State{Size: abi.StateSize}
			rows, verdicts, by := numbered(n), make([]abi.Verdict, n), make([]abi.PolicyID, n)
			ranks, k, events := make([]abi.Ranking, n), make([]int32, n), make([]abi.Event, n)
			batch, spec := new(abi.BatchPlan), new(abi.SpecPlan)
			got := testing.AllocsPerRun(200, func() {
				st.NowNS += 1e6
				set, _, _ := r.Swap(st.NowNS)
				switch x.hook {
				case "admit":
					set.Admit(st, rows, verdicts, by)
				case "prioritize":
					set.Prioritize(st, rows, ranks)
				case "batch_cap":
					set.BatchPlan(st, batch)
				case "speculate":
					set.Speculate(st, rows, spec, k)
				case "events":
					set.Events(st, events)
				}
			})
			if got != 0 {
				t.Errorf("%s with %d policies allocates %v times a call", x.hook, policies, got)
			}
		}
	}
}

// TestInlineTheSameCallsGiveTheSameDecisions replays calls with faults, a quarantine and pushes between them.
func TestInlineTheSameCallsGiveTheSameDecisions(t *testing.T) {
	run := func() string {
		var log strings.Builder
		handler := slog.NewTextHandler(&log, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		}})
		r := newRig(t, plugins.Options{Inline: true, FaultLimit: 3, Log: slog.New(handler)})
		r.push("p", guesttest.Admitter(1))
		r.push("p", guesttest.Breaker(2, armed, guesttest.Forever()))
		for i := range uint32(40) {
			waiting := uint32(0)
			if i%5 == 0 {
				waiting = armed
			}
			out, by := r.admit(waiting, 2)
			_, epoch, changed := r.Swap(r.now)
			fmt.Fprintln(&log, i, out[0].MaxTokensCap, by, epoch, changed)
			if i == 30 {
				r.push("q", guesttest.Admitter(9))
			}
		}
		for _, p := range r.List() {
			if p.Fallen != nil {
				fmt.Fprintf(&log, "%+v", *p.Fallen)
				p.Fallen = nil
			}
			fmt.Fprintf(&log, "%+v", p)
		}
		return log.String()
	}
	first := run()
	if second := run(); second != first {
		t.Errorf("two runs differ:\n%s\n---\n%s", first, second)
	}
	if !strings.Contains(first, "policy quarantined") || strings.Contains(first, "no_instance:1") {
		t.Errorf("want a quarantine, and no call without an instance:\n%s", first)
	}
}

func TestInlineAQuarantineTakesEffectAtTheNextSwap(t *testing.T) {
	r := newRig(t, plugins.Options{Inline: true, FaultLimit: 1})
	r.push("p", guesttest.Admitter(1))
	r.push("p", guesttest.Breaker(2, armed, guesttest.Unreachable))
	set := r.step()
	out, by := make([]abi.Verdict, 1), make([]abi.PolicyID, 1)
	judge := func(waiting uint32) {
		set.Admit(&abi.State{NowNS: r.now, WaitingRequests: waiting}, numbered(1), out, by)
	}
	judge(armed)
	judge(0) // the step goes on with the set that it began with, and nobody in the policy's place
	if by[0] >= 0 || out[0].Action != 0 {
		t.Errorf("within the step: %+v by %d, want the native default", out[0], by[0])
	}
	if _, epoch, changed := r.Swap(r.now); epoch != 3 || !changed || r.mark() != 1 {
		t.Errorf("epoch %d, changed %v, decided by %d; want the version before", epoch, changed, r.mark())
	}
}
