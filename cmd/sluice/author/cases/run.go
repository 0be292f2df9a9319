package cases

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/sluice-dev/sluice/cmd/sluice/author/notation"
	"github.com/sluice-dev/sluice/cmd/sluice/author/sandbox"
	"github.com/sluice-dev/sluice/plugins"
	"github.com/sluice-dev/sluice/plugins/abi"
)

// Failure is one way in which a policy did not do what a case says.
type Failure struct {
	File string `json:"file"`
	Line int    `json:"line"`
	Step int    `json:"step"` // from 1; 0 = the case as a whole
	What string `json:"what"` // the field, with its row or plan
	Want string `json:"want,omitempty"`
	Got  string `json:"got,omitempty"`
}

// String is FILE:LINE: step N: what: want ..., got ...
func (f *Failure) String() string {
	s := fmt.Sprintf("%s:%d: ", f.File, f.Line)
	if f.Step > 0 {
		s += fmt.Sprintf("step %d: ", f.Step)
	}
	s += f.What
	if f.Want != "" || f.Got != "" {
		s += fmt.Sprintf(": want %s, got %s", f.Want, f.Got)
	}
	return s
}

// Run runs a case on a module in an instance of its own, and returns what is not as the case says. An error means that the
// module itself is refused, a *plugins.RefusedError, or could not be run.
func Run(ctx context.Context, box *sandbox.Box, name string, wasm []byte, c *Case) ([]Failure, error) {
	r := &run{c: c}
	p, err := box.Load(ctx, name, wasm, c.Config)
	if done, err := r.refusal(c.Line, 0, c.Refused, err); done || err != nil {
		if p != nil {
			p.Close()
		}
		return r.failures, err
	}
	defer p.Close()
	for i := range c.Steps {
		if err := r.step(ctx, p, i+1, &c.Steps[i]); err != nil {
			return r.failures, err
		}
	}
	return r.failures, nil
}

type run struct {
	c        *Case
	failures []Failure
}

func (r *run) fail(line, step int, what, want, got string) {
	r.failures = append(r.failures, Failure{r.c.File, line, step, what, want, got})
}

// refusal judges how a configuration was taken. done = the case ends here.
func (r *run) refusal(line, step int, want string, err error) (done bool, fatal error) {
	var refused *plugins.RefusedError
	switch {
	case err == nil && want == "":
		return false, nil
	case err == nil:
		r.fail(line, step, "configuration", "refused with "+strconv.Quote(want), "taken")
	case !errors.As(err, &refused) || refused.Stage != plugins.StageConfigure:
		return true, err
	case want == "" || !strings.Contains(refused.Err.Error(), want):
		if want != "" {
			want = "refused with " + strconv.Quote(want)
		}
		r.fail(line, step, "configuration", orTaken(want), refused.Err.Error())
	}
	return true, nil
}

func orTaken(want string) string {
	if want == "" {
		return "taken"
	}
	return want
}

func (r *run) step(ctx context.Context, p *sandbox.Policy, n int, s *Step) error {
	if s.Config != nil {
		if done, err := r.refusal(s.Line, n, "", p.Configure(ctx, s.Config)); done || err != nil {
			return err
		}
	}
	if h := s.Question.Hook; !p.Hooks().Has(h) {
		r.fail(s.Line, n, "hook", sandbox.HookName(h), "the policy has "+strings.Join(plugins.HookNames(p.Hooks()), ", "))
		return nil
	}
	q := s.Question
	q.Rows = slices.Clone(q.Rows)
	a := p.Ask(&q)
	return r.compare(n, &s.Expect, &a)
}

func (r *run) compare(n int, e *Expect, a *sandbox.Answer) error {
	if e.Fault != a.Fault {
		got := "none"
		if a.Fault != "" {
			got = a.Fault + " (" + a.Err.Error() + ")"
		}
		want := e.Fault
		if want == "" {
			want = "none"
		}
		r.fail(e.Line, n, "fault", want, got)
		return nil
	}
	if e.Decided != nil && *e.Decided != a.Decided {
		r.fail(e.Line, n, "decided", strconv.FormatBool(*e.Decided), strconv.FormatBool(a.Decided))
	}
	if e.Rows != nil && a.Hook != abi.HookAdmit && !a.Decided {
		r.fail(e.Line, n, "decided", "an answer for each row", "abstain")
		return nil
	}
	for i, doc := range e.Rows {
		all, err := compareRow(a, i, doc)
		if err != nil {
			return err
		}
		r.mismatches(n, fmt.Sprintf("row %d", i+1), all)
	}
	if e.Plan != nil {
		if err := r.comparePlan(n, e.Plan, a); err != nil {
			return err
		}
	}
	for _, x := range []struct {
		name      string
		want, got []uint64
	}{{"order", e.Order, a.Order}, {"victims", e.Victims, a.Victims}} {
		if x.want != nil && !slices.Equal(x.want, x.got) {
			r.fail(e.Line, n, x.name, fmt.Sprint(x.want), fmt.Sprint(x.got))
		}
	}
	r.compareLog(n, e, a.Log)
	return nil
}

func (r *run) mismatches(n int, of string, all []notation.Mismatch) {
	for _, m := range all {
		r.fail(m.Line, n, of+": "+m.Field, m.Want, m.Got)
	}
}

func (r *run) comparePlan(n int, doc *notation.Node, a *sandbox.Answer) error {
	if !a.Decided {
		r.fail(doc.Line, n, "decided", "a plan", "abstain")
		return nil
	}
	layout, plan := planOf(a)
	all, err := notation.Diff(layout, plan, doc)
	r.mismatches(n, "plan", all)
	return err
}

func (r *run) compareLog(n int, e *Expect, log []string) {
	rest := log
	for _, want := range e.Log {
		at := slices.IndexFunc(rest, func(line string) bool { return strings.Contains(line, want) })
		if at < 0 {
			r.fail(e.Line, n, "log", strconv.Quote(want), fmt.Sprintf("%q", log))
			return
		}
		rest = rest[at+1:]
	}
}

// compareRow compares the answer for one row with what the document says: the fields, an action by its name, the draft
// tokens, or null for anything.
func compareRow(a *sandbox.Answer, i int, doc *notation.Node) ([]notation.Mismatch, error) {
	switch {
	case doc.Kind == notation.Null:
		return nil, nil
	case a.Hook == abi.HookSpeculate:
		want, err := doc.Number("draft tokens", -1, abi.MaxDraft)
		if err != nil || int32(want) == a.K[i] {
			return nil, err
		}
		return []notation.Mismatch{{Line: doc.Line, Field: "k", Want: doc.Text, Got: strconv.Itoa(int(a.K[i]))}}, nil
	case a.Hook == abi.HookPrioritize:
		return notation.Diff("Ranking", abi.Bytes(&a.Rankings[i]), doc)
	case doc.Kind == notation.Scalar:
		action := &notation.Node{File: doc.File, Line: doc.Line, Kind: notation.Map}
		action.Members = []notation.Member{{Key: "action", Line: doc.Line, Value: doc}}
		doc = action
	}
	return notation.Diff("Verdict", abi.Bytes(&a.Verdicts[i]), doc)
}
