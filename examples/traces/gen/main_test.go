package main

import (
	"bytes"
	"context"
	"os"
	"testing"

	"github.com/sluice-dev/sluice/gpu/sim"
	"github.com/sluice-dev/sluice/host/replay"
	"github.com/sluice-dev/sluice/host/trace"
	"github.com/sluice-dev/sluice/plugins/abi"
)

const file = "../burst.csv"

func TestTheTraceIsWhatTheGeneratorWrites(t *testing.T) {
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var got bytes.Buffer
	if err := generate(&got, 1); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got.Bytes(), want) {
		t.Error("burst.csv is not what gen writes: run the command of its comment")
	}
	if got.Len() > 200_000 {
		t.Errorf("%d bytes", got.Len())
	}
}

// shedder rejects what has waited for two seconds.
type shedder struct{}

func (shedder) Hooks() abi.Hook { return abi.HookAdmit }

// Reads implements abi.Decider.
func (shedder) Reads() abi.Group { return abi.All }

func (shedder) Admit(_ *abi.State, rows []abi.Row, out []abi.Verdict, by []abi.PolicyID) {
	for i := range rows {
		out[i] = abi.Verdict{ClassOverride: -1, SpeculationCap: -1}
		by[i] = 1
		if abi.Phase(rows[i].Phase) == abi.PhaseQueued && rows[i].WaitNS > 2e9 {
			out[i].Action, out[i].Reason = uint8(abi.ActionReject), uint16(abi.ReasonQueueAge)
		}
	}
}

func (shedder) Prioritize(*abi.State, []abi.Row, []abi.Ranking) (bool, abi.PolicyID) { return false, 0 }
func (shedder) BatchPlan(*abi.State, *abi.BatchPlan) (bool, abi.PolicyID)            { return false, 0 }
func (shedder) Speculate(*abi.State, []abi.Row, *abi.SpecPlan, []int32) (bool, abi.PolicyID) {
	return false, 0
}
func (shedder) Events(*abi.State, []abi.Event) {}

// The example is worth its name: in its burst shedding what waits too long serves those who are let in far sooner.
func TestSheddingMattersInTheBurst(t *testing.T) {
	loaded, err := trace.LoadFile(file, trace.Options{})
	if err != nil {
		t.Fatal(err)
	}
	device, err := sim.ParseProfile(sim.CPUProfile)
	if err != nil {
		t.Fatal(err)
	}
	all := func(policies abi.Decider) replay.Summary {
		r, err := replay.Run(context.Background(), replay.Input{Records: loaded.Records, Policies: policies, Sim: device, Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		s := r.Summaries()
		return s[len(s)-1]
	}
	native, shed := all(nil), all(shedder{})
	t.Logf("native: TTFT p95 %d ms, SLO %d ppm; shedding: %d shed, TTFT p95 %d ms, SLO %d ppm",
		*native.TTFT.P95/1e6, native.MetPPM(), shed.Shed, *shed.TTFT.P95/1e6, shed.MetPPM())
	if native.Shed != 0 || shed.Shed < 30 || shed.Shed > shed.N/2 {
		t.Errorf("%d and %d of %d shed", native.Shed, shed.Shed, shed.N)
	}
	if *native.TTFT.P95 < 5**shed.TTFT.P95 {
		t.Errorf("TTFT p95 %d ns without and %d ns with shedding", *native.TTFT.P95, *shed.TTFT.P95)
	}
}
