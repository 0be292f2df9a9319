package notation

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/sluice-dev/sluice/plugins/abi"
	"pgregory.net/rapid"
)

func parse(t testing.TB, text string) *Node {
	t.Helper()
	n, err := Parse("f.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestFieldsAreFilledByName(t *testing.T) {
	var st abi.State
	err := Fill("State", abi.Bytes(&st), parse(t, `
now_ns: 30s
host_state: paused
waiting_requests: 0x10
prefix_hit_ppm: 12.5%
itl_p95_ns: 250ms
accept_ppm_by_position: [90%, 1000]
classes: {1: {waiting: 3, oldest_wait_ns: 1m}}
slo: [{ttft_ns: 2s}, {}]
`))
	if err != nil {
		t.Fatal(err)
	}
	want := abi.State{
		NowNS: 30e9, HostState: uint8(abi.HostStatePaused), WaitingRequests: 16, PrefixHitPPM: 125_000, ITLP95NS: 250e6,
		Valid: abi.StateHasPrefixHitPPM | abi.StateHasITLP95NS | abi.StateHasAcceptPPMByPosition,
	}
	want.AcceptPPMByPosition[0], want.AcceptPPMByPosition[1] = 900_000, 1000
	want.Classes[1] = abi.ClassStats{Waiting: 3, OldestWaitNS: 60e9}
	want.SLO[0].TTFTNS = 2e9
	if st != want {
		t.Errorf("got  %+v\nwant %+v", st, want)
	}
	if err := Fill("State", abi.Bytes(&st), parse(t, "itl_p95_ns: null")); err != nil || st.Has(abi.StateHasITLP95NS) {
		t.Errorf("an absent field is still there (%v)", err)
	}
}

func TestUnitsAndNames(t *testing.T) {
	var v abi.Verdict
	if err := Fill("Verdict", abi.Bytes(&v), parse(t, "{action: reject, reason: queue_age, retry_after_ms: 1.5s, class_override: -1, has_priority: true}")); err != nil {
		t.Fatal(err)
	}
	if want := (abi.Verdict{Action: 2, Reason: 1, RetryAfterMs: 1500, ClassOverride: -1, HasPriority: 1}); v != want {
		t.Errorf("got %+v, want %+v", v, want)
	}
	for _, text := range []string{"flags: may_preempt|pinned", "flags: [may_preempt, pinned]", "flags: 5"} {
		var r abi.Ranking
		if err := Fill("Ranking", abi.Bytes(&r), parse(t, text)); err != nil || r.Flags != 5 {
			t.Errorf("%s: %d, %v", text, r.Flags, err)
		}
	}
}

func TestMistakesAreNamedWithTheirPlace(t *testing.T) {
	for _, c := range []struct{ layout, text, want string }{
		{"State", "now_ns: 1\nwaiting_request: 2", `f.yaml:2: State has no field "waiting_request"; did you mean "waiting_requests"?`},
		{"State", "\nvalid: 1", "f.yaml:2: valid is not to be given"},
		{"State", "now_ns: soon", `f.yaml:1: now_ns = "soon" is neither a number nor a duration like 250ms`},
		{"State", "waiting_requests: 30s", `waiting_requests = "30s" is not a whole number`},
		{"State", "waiting_requests: -1", "waiting_requests = -1 is not from 0 to 4294967295"},
		{"State", "waiting_requests: 99999999999999999999999", "is not from 0 to 4294967295"},
		{"State", "waiting_requests: [1]", "waiting_requests must be a value, and not a list"},
		{"State", "host_state: pausd", `host_state = "pausd" is none of running, draining, paused; did you mean "paused"?`},
		{"State", "prefix_hit_ppm: half", `prefix_hit_ppm = "half" is neither a number of ppm nor a share like 90%`},
		{"State", "classes: {16: {}}", `"16" is not an index from 0 to 15`},
		{"State", "classes:\n  - waiting: 1\n  - waitin: 2", `f.yaml:3: ClassStats has no field "waitin"; did you mean "waiting"?`},
		{"State", "accept_ppm_by_position: [1,2,3,4,5,6,7,8,9]", "accept_ppm_by_position has 8 elements, and 9 are given"},
		{"State", "accept_ppm_by_position: 3", "must be a list of up to 8"},
		{"State", "[1]", "f.yaml:1: State must be keys and values, and not a list"},
		{"State", "now_ns: 1\nnow_ns: 2", `"now_ns"`},
		{"Verdict", "action: admit|reject", "action = "},
		{"Verdict", "retry_after_ms: 1us", "no whole number of ms"},
		{"Verdict", "class_override: 200", "is not from -128 to 127"},
	} {
		n, err := Parse("f.yaml", []byte(c.text))
		if err == nil {
			err = Fill(c.layout, make([]byte, abi.Layouts[c.layout].Size), n)
		}
		if e := (*Error)(nil); !errors.As(err, &e) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v\nwant %s", c.text, err, c.want)
		}
	}
}

func TestDocumentsThatAreNotRead(t *testing.T) {
	for text, want := range map[string]string{
		"a: &x 1\nb: *x":                      "not used here",
		"a: 1\n---\nb: 2":                     "a second document",
		"a: [1":                               "f.yaml:1:",
		"a: !!binary x":                       "not used here",
		strings.Repeat("[", 100):              "deep",
		strings.Repeat("- ", 500) + "1":       "deep",
		"a: " + strings.Repeat("x", MaxBytes): "at most",
		"\ta: 1":                              "f.yaml:1:",
		`{"a": 1, "a": 2}`:                    "twice",
		"{\"a\": {\"b\": 1,\n\"b\": 2}}":      "f.yaml:2:",
		strings.Repeat(`{"a":`, 40):           "deep",
		"? [a, b]\n: 1":                       "invalid key",
		"a: !!str\n":                          "not used here",
	} {
		if n, err := Parse("f.yaml", []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: %+v, %v; want %s", text, n, err, want)
		}
	}
	for _, text := range []string{"", "# nothing", "~"} {
		if n := parse(t, text); n.Kind != Null {
			t.Errorf("%q is %v", text, n.Kind)
		}
	}
}

func TestJSONIsReadWithItsLines(t *testing.T) {
	n := parse(t, "{\n\t\"a\": [1, \"two\", null, true],\n\t\"b\": {\n\t\t\"c\": 3}}")
	if n.Get("a").Items[1].Text != "two" || n.Get("a").Items[2].Kind != Null || n.Get("a").Items[3].Text != "true" {
		t.Errorf("%+v", n.Get("a"))
	}
	if c := n.Get("b").Get("c"); c.Line != 4 || c.Text != "3" {
		t.Errorf("%+v", c)
	}
}

// What Show writes, Fill reads: for all bytes that a host or a guest could have written.
func TestShownIsFilled(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		layout := rapid.SampledFrom([]string{"State", "Row", "Verdict", "Ranking", "BatchPlan", "SpecPlan", "Event"}).Draw(t, "layout")
		from := rapid.SliceOfN(rapid.Byte(), abi.Layouts[layout].Size, abi.Layouts[layout].Size).Draw(t, "bytes")
		text, err := json.Marshal(Show(layout, from))
		if err != nil {
			t.Fatal(err)
		}
		n, err := Parse("f.json", text)
		if err != nil {
			t.Fatal(err)
		}
		into := make([]byte, len(from))
		if err := Fill(layout, into, n); err != nil {
			t.Fatal(err)
		}
		again, err := json.Marshal(Show(layout, into))
		if err != nil || string(again) != string(text) {
			t.Fatalf("%s\nbecame\n%s (%v)", text, again, err)
		}
		if all, err := Diff(layout, into, n); err != nil || len(all) > 0 {
			t.Fatalf("differs from itself: %v, %v", all, err)
		}
	})
}

func TestDiffNamesWhatPeopleWrote(t *testing.T) {
	got := abi.Verdict{Action: uint8(abi.ActionReject), Status: 503, RetryAfterMs: 5000}
	all, err := Diff("Verdict", abi.Bytes(&got), parse(t, "action: admit\nstatus: 503\nretry_after_ms: 7s"))
	want := "[{1 action admit reject} {3 retry_after_ms 7s 5s}]"
	if s := fmt.Sprint(all); err != nil || s != want {
		t.Errorf("%s, %v; want %s", s, err, want)
	}
	plan := abi.BatchPlan{MaxSeqs: 4}
	plan.ClassMaxSeqs[1] = 2
	all, err = Diff("BatchPlan", abi.Bytes(&plan), parse(t, "class_max_seqs: [0, 3]"))
	if s := fmt.Sprint(all); err != nil || s != "[{1 class_max_seqs[1] 3 2}]" {
		t.Errorf("%s, %v", s, err)
	}
}

// FuzzParse: no text makes the reader panic, and a document that is read has a place and a kind for every value.
func FuzzParse(f *testing.F) {
	for _, text := range []string{"a: 1", "[1, {b: 2}]", `{"a": [1.5e3, "x"]}`, "a: |\n  b\n  c", "- a\n- b:\n  - c", "a: !!binary x", "&a *a"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		n, err := Parse("f", text)
		if err != nil {
			if e := (*Error)(nil); !errors.As(err, &e) || e.Line < 1 {
				t.Fatalf("%T %v", err, err)
			}
			return
		}
		check(t, n)
		_ = Fill("State", make([]byte, abi.StateSize), n)
	})
}

func check(t *testing.T, n *Node) {
	if n.Line < 1 || n.File != "f" || n.Kind != Map && n.Members != nil || n.Kind != List && n.Items != nil {
		t.Fatalf("%+v", n)
	}
	for _, item := range n.Items {
		check(t, item)
	}
	for _, m := range n.Members {
		check(t, m.Value)
	}
}
