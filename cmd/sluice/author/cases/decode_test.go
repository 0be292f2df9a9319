package cases_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/sluice-dev/sluice/cmd/sluice/author/cases"
	"github.com/sluice-dev/sluice/cmd/sluice/author/notation"
	"github.com/sluice-dev/sluice/plugins/abi"
)

func decode(t testing.TB, text string) []cases.Case {
	t.Helper()
	all, err := cases.Decode("f.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// What a case does not say about a request's times agrees with what it says, as in a server.
func TestTimesAgree(t *testing.T) {
	const now = int64(1000e9)
	for text, want := range map[string]abi.Row{
		"{phase: arrival}":                               {ArrivalNS: now, EnqueueNS: now},
		"{phase: arrival, age_ns: 1s}":                   {ArrivalNS: now - 1e9, EnqueueNS: now - 1e9, AgeNS: 1e9},
		"{phase: queued, wait_ns: 2s}":                   {ArrivalNS: now - 2e9, EnqueueNS: now - 2e9, AgeNS: 2e9, WaitNS: 2e9},
		"{phase: queued, age_ns: 3s}":                    {ArrivalNS: now - 3e9, EnqueueNS: now - 3e9, AgeNS: 3e9, WaitNS: 3e9},
		"{phase: queued, age_ns: 3s, wait_ns: 1s}":       {ArrivalNS: now - 3e9, EnqueueNS: now - 1e9, AgeNS: 3e9, WaitNS: 1e9},
		"{phase: preempted, arrival_ns: 990s}":           {ArrivalNS: now - 10e9, EnqueueNS: now - 10e9, AgeNS: 10e9, WaitNS: 10e9},
		"{phase: queued, enqueue_ns: 995s}":              {ArrivalNS: now - 5e9, EnqueueNS: now - 5e9, AgeNS: 5e9, WaitNS: 5e9},
		"{phase: running, age_ns: 4s}":                   {ArrivalNS: now - 4e9, EnqueueNS: now - 4e9, AgeNS: 4e9},
		"{phase: running, age_ns: 4s, enqueue_ns: 997s}": {ArrivalNS: now - 4e9, EnqueueNS: now - 3e9, AgeNS: 4e9},
	} {
		r := decode(t, "{name: x, hook: admit, rows: ["+text+"]}")[0].Steps[0].Question.Rows[0]
		got := abi.Row{ArrivalNS: r.ArrivalNS, EnqueueNS: r.EnqueueNS, AgeNS: r.AgeNS, WaitNS: r.WaitNS}
		if got != want {
			t.Errorf("%s: arrival %d, enqueue %d, age %d, wait %d", text, r.ArrivalNS-now, r.EnqueueNS-now, r.AgeNS, r.WaitNS)
		}
	}
}

// Steps go on from each other, over what the case says of all of them.
func TestStepsGoOn(t *testing.T) {
	c := decode(t, `
name: x
hook: batch_cap
state: {running: 3, max_num_seqs: 8}
steps:
  - {}
  - {state: {now_ns: 2000s, running: 4}}
  - {state: {step_id: 9}}
  - {hook: admit, rows: [{}, {id: 7}]}
`)[0]
	for i, want := range []struct {
		step    uint64
		now     int64
		running uint32
	}{{1, 1000e9, 3}, {2, 2000e9, 4}, {9, 2000e9 + 20e6, 3}, {10, 2000e9 + 40e6, 3}} {
		st := c.Steps[i].Question.State
		if st.StepID != want.step || st.NowNS != want.now || st.Running != want.running || st.MaxNumSeqs != 8 {
			t.Errorf("step %d: %d at %d with %d running", i+1, st.StepID, st.NowNS, st.Running)
		}
	}
	rows := c.Steps[3].Question.Rows
	if rows[0].ID != 1 || rows[1].ID != 7 || rows[0].Phase != uint8(abi.PhaseArrival) {
		t.Errorf("rows %+v", rows)
	}
}

func TestMistakesInCasesAreNamed(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"[]", ""},
		{"hook: admit", "f.yaml:1: the case has no name"},
		{"name: [x]\nhook: admit", "name must be a value"},
		{"- 1", `a case must be keys and values, and not "1"`},
		{"name: x", "there is no hook: name one of [admit prioritize batch_cap speculate events]"},
		{"name: x\nhook: restore", `f.yaml:2: there is no hook "restore" to ask`},
		{"name: x\nhook: configure", `there is no hook "configure" to ask`},
		{"name: x\nhook: admit\nrow: {clas: 1}\nrows: [{}]", `f.yaml:3: Row has no field "clas"; did you mean "class"?`},
		{"name: x\nhook: batch_cap\nrows: [{}]", "batch_cap sees no rows"},
		{"name: x\nhook: admit\nevents: [{}]", "admit hears no events"},
		{"name: x\nhook: admit\nrows: 3", "rows must be a list"},
		{"name: x\nhook: admit\nrows: [" + strings.Repeat("{},", 257) + "]", "257 rows; one call sees at most 256"},
		{"name: x\nhook: events\nevents: [" + strings.Repeat("{},", 257) + "]", "257 events"},
		{"name: x\nhook: admit\nrows: [{}]\nexpect: [admit, admit]", "f.yaml:4: 2 answers are expected for 1 rows; write null"},
		{"name: x\nhook: admit\nrows: [{}]\nexpect: [acept]", `action = "acept" is none of`},
		{"name: x\nhook: admit\nrows: [{}]\nexpect: [{statu: 503}]", `Verdict has no field "statu"; did you mean "status"?`},
		{"name: x\nhook: admit\nrows: [{}]\nexpect: {status: 503}", "admit answers for rows: expect must be a list"},
		{"name: x\nhook: admit\nrows: [{}]\nexpect: admit", "expect must be abstain, a list for the rows, or the fields of a plan"},
		{"name: x\nhook: batch_cap\nexpect: [1]", "batch_cap answers with a plan and not for rows"},
		{"name: x\nhook: batch_cap\nexpect: {max_seq: 1}", `BatchPlan has no field "max_seq"; did you mean "max_seqs"?`},
		{"name: x\nhook: batch_cap\nexpect: {plan: {max_seqs: 1}, ordr: []}", `unknown key "ordr" in expect; did you mean "order"?`},
		{"name: x\nhook: speculate\nrows: [{}]\nexpect: {rows: [16]}", "draft tokens must be a whole number from -1 to 15"},
		{"name: x\nhook: prioritize\nrows: [{}]\nexpect: {order: [2]}", `order: "2" is not the id of a row that waits`},
		{"name: x\nhook: prioritize\nrows: [{phase: running}]\nexpect: {order: [1]}", `"1" is not the id of a row that waits`},
		{"name: x\nhook: prioritize\nrows: [{}]\nexpect: {victims: [1]}", `"1" is not the id of a row that runs`},
		{"name: x\nhook: admit\nrows: [{}]\nexpect: {order: [1]}", "order: admit ranks nothing"},
		{"name: x\nhook: admit\nexpect: {decided: maybe}", `decided must be true or false, and not "maybe"`},
		{"name: x\nhook: admit\nexpect: {fault: crash}", `fault = "crash" is none of`},
		{"name: x\nhook: admit\nlog: {a: 1}", "log must be a list"},
		{"name: x\nhook: admit\nsteps: []", "there is no step"},
		{"name: x\nhook: admit\nsteps: [{name: y}]", `unknown key "name" in a step`},
		{"name: x\nhook: admit\nsteps: [{}]\nrows: [{}]", "f.yaml:4: rows does not belong here: it is a step's"},
		{"name: x\nrefused: y\nsteps: [{}]", "a policy that is refused takes no steps"},
		{"name: x\nrefused: y\nexpect: abstain", "expect does not belong here"},
		{"name: x\nconfig: [a]\nhook: admit", "config must be keys and values"},
		{"name: x\nconfig: {a: [1]}\nhook: admit", "a must be a value"},
		{"- {name: x, hook: admit}\n- {name: x, hook: admit}", `f.yaml:2: a second case is named "x"; the first is in line 1`},
	} {
		all, err := cases.Decode("f.yaml", []byte(c.text))
		if c.want == "" {
			if err != nil || len(all) > 0 {
				t.Errorf("%s: %v", c.text, err)
			}
			continue
		}
		if e := (*notation.Error)(nil); !errors.As(err, &e) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v\nwant %s", c.text, err, c.want)
		}
	}
}

// FuzzDecode: no text makes the decoder panic, and what it takes can be asked.
func FuzzDecode(f *testing.F) {
	for _, text := range []string{
		"{name: x, hook: admit, rows: [{}], expect: [reject]}",
		"name: x\nhook: prioritize\nrows: [{phase: running}, {}]\nexpect: {order: [2], victims: [1], rows: [null, {flags: []}]}",
		"name: x\nhook: speculate\nstate: {running: 1}\nsteps:\n- {rows: [{}], expect: {plan: {k: 1}, rows: [-1]}}\n- {config: {a: b}, rows: []}",
		"{name: x, refused: y, config: {a: 1}}",
		"{name: x, hook: events, events: [{kind: ended}], log: a}",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		all, err := cases.Decode("f", text)
		if e := (*notation.Error)(nil); err != nil && !errors.As(err, &e) {
			t.Fatalf("%T %v", err, err)
		}
		for _, c := range all {
			for _, s := range c.Steps {
				if s.Question.Hook == 0 || len(s.Question.Rows) > abi.MaxRows || s.Expect.Rows != nil && len(s.Expect.Rows) != len(s.Question.Rows) {
					t.Fatalf("step %+v", s)
				}
			}
		}
	})
}
