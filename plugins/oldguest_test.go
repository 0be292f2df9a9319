package plugins_test

import (
	"os"
	"testing"

	"github.com/sluice-dev/sluice/plugins"
	"github.com/sluice-dev/sluice/plugins/abi"
)

// A module that was built for ABI 1.0 finds every field where that version promised it, and what it decides is obeyed.
func TestAGuestOfAnEarlierMinorVersionRuns(t *testing.T) {
	wasm, err := os.ReadFile("testdata/v1.0/guest.wasm")
	if err != nil {
		t.Fatal(err)
	}
	r := newRig(t, plugins.Options{})
	r.before("old", wasm)
	set := r.step()
	st := &abi.State{Size: abi.StateSize, NowNS: 1}
	st.MaxNumSeqs = 9
	st.SLO[1].TTFTNS = 5e9
	rows := []abi.Row{{ID: 1, WaitNS: 5e9, TenantServedOut: 77}, {ID: 2, WaitNS: 5e9 + 1}}
	out, by := make([]abi.Verdict, 2), make([]abi.PolicyID, 2)
	set.Admit(st, rows, out, by)
	if out[0].Action != uint8(abi.ActionAdmit) || out[0].MaxTokensCap != 77 || out[1].Action != uint8(abi.ActionReject) || out[1].Status != 503 {
		t.Errorf("verdicts %+v", out)
	}
	var plan abi.BatchPlan
	if ok, _ := set.BatchPlan(st, &plan); !ok || plan.MaxSeqs != 8 {
		t.Errorf("plan %+v, decided %v; want max_seqs 8", plan, ok)
	}
}
