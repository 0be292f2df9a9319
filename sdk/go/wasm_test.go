package sluice_test

import (
	"slices"
	"testing"
	"unsafe"

	"github.com/sluice-dev/sluice/plugins/abi"
	"github.com/sluice-dev/sluice/policies/wasmtest"
	sluice "github.com/sluice-dev/sluice/sdk/go"
)

func everything(t testing.TB) *wasmtest.Module {
	t.Helper()
	return wasmtest.Compile(t, wasmtest.Build(t, "./sdk/go/testdata/everything"))
}

// A policy in Go built as the package comment says is what the ABI asks for.
func TestModule(t *testing.T) {
	m := everything(t)
	g := m.Start(t)
	t.Run("descriptor", func(t *testing.T) { testDescriptor(t, g.Descriptor) })
	t.Run("imports", func(t *testing.T) { testImports(t, m.Imports()) })
	t.Run("configure", func(t *testing.T) { testConfigure(t, g) })
	t.Run("admit", func(t *testing.T) { testAdmit(t, g) })
	t.Run("prioritize", func(t *testing.T) { testPrioritize(t, g) })
	t.Run("batch cap", func(t *testing.T) { testBatchCap(t, g) })
	t.Run("speculate", func(t *testing.T) { testSpeculate(t, g) })
	t.Run("events and state", func(t *testing.T) { testEventsAndState(t, m, g) })
	t.Run("out of range", func(t *testing.T) { testOutOfRange(t, g) })
	t.Run("memory", func(t *testing.T) {
		calls := 1_000_000
		if testing.Short() {
			calls = 200_000
		}
		wasmtest.Flat(t, g, calls)
	})
}

func testDescriptor(t *testing.T, d sluice.Descriptor) {
	const all = abi.HookConfigure | abi.HookAdmit | abi.HookPrioritize | abi.HookBatchCap | abi.HookSpeculate | abi.HookEvents | abi.HookState
	if d.Magic != abi.Magic || d.Major != abi.Major || d.Minor != abi.Minor || d.Hooks != uint32(all) || d.Flags != 0 || d.Reads != 0 {
		t.Errorf("descriptor is %+v", d)
	}
	if d.StateCap != abi.StateSize || d.RowStride != abi.RowSize || d.RowsCap != abi.MaxRows*abi.RowSize {
		t.Errorf("state and rows: %+v", d)
	}
	if d.OutCap < abi.MaxRows*abi.VerdictSize || d.EventsCap != abi.MaxRows*abi.EventSize || d.ConfigCap != 16<<10 {
		t.Errorf("out, events and config: %+v", d)
	}
	type region struct{ at, size uint32 }
	regions := []region{
		{d.StatePtr, d.StateCap}, {d.RowsPtr, d.RowsCap}, {d.OutPtr, d.OutCap}, {d.ConfigPtr, d.ConfigCap}, {d.EventsPtr, d.EventsCap},
	}
	slices.SortFunc(regions, func(a, b region) int { return int(a.at) - int(b.at) })
	for i, r := range regions {
		if i > 0 && regions[i-1].at+regions[i-1].size > r.at {
			t.Errorf("two regions overlap at %d: %+v", r.at, d)
		}
		if r != (region{d.ConfigPtr, d.ConfigCap}) && r.at%8 != 0 {
			t.Errorf("%d is not aligned: %+v", r.at, d)
		}
	}
}

// The package comment lists these.
func testImports(t *testing.T, got []string) {
	want := []string{"sluice.log", "sluice.metric"}
	for _, name := range []string{"args_get", "args_sizes_get", "clock_time_get", "environ_get", "environ_sizes_get", "fd_write", "poll_oneoff", "proc_exit", "random_get", "sched_yield"} {
		want = append(want, "wasi_snapshot_preview1."+name)
	}
	if !slices.Equal(got, want) {
		t.Errorf("the module imports\n%q, not\n%q", got, want)
	}
}

func testConfigure(t *testing.T, g *wasmtest.Guest) {
	for _, c := range []struct {
		settings map[string]string
		err      string
	}{
		{nil, ""},
		{map[string]string{"limit": "2s"}, ""},
		{map[string]string{"limit": "soon"}, `limit="soon": not a duration: write it like 2s, 500ms or 1m30s`},
		{map[string]string{"limits": "2s"}, `unknown key "limits": known are limit, why`},
		{map[string]string{"why": "x"}, "told to refuse"},
		{map[string]string{"limit": "3s"}, ""},
	} {
		err := g.Configure(c.settings)
		if err == nil && c.err != "" || err != nil && err.Error() != c.err {
			t.Errorf("%v: %v, not %q", c.settings, err, c.err)
		}
	}
}

func testAdmit(t *testing.T, g *wasmtest.Guest) {
	st := &sluice.State{KMax: 7}
	got := g.Admit(st,
		sluice.Row{Phase: uint8(sluice.PhaseArrival)},
		sluice.Row{Phase: uint8(sluice.PhaseQueued), WaitNS: 3*sluice.Second + 1},
		sluice.Row{Phase: uint8(sluice.PhaseQueued), WaitNS: 3 * sluice.Second, MaxTokens: 100, Priority: 5},
	)
	want := []sluice.Verdict{
		{ClassOverride: -1, SpeculationCap: -1},
		{Action: uint8(sluice.ActionReject), Status: 429, Reason: uint16(sluice.ReasonQueueAge), RetryAfterMs: 3001, ClassOverride: -1, SpeculationCap: -1},
		{Action: uint8(sluice.ActionDegrade), MaxTokensCap: 50, SpeculationCap: 7, ClassOverride: 3, PriorityOverride: 4, HasPriority: 1},
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func testPrioritize(t *testing.T, g *wasmtest.Guest) {
	rows := make([]sluice.Row, sluice.MaxRows)
	for i := range rows {
		rows[i] = sluice.Row{ArrivalNS: int64(i) << 40, TenantServedOut: uint64(1000 - i)}
	}
	got, decided := g.Prioritize(&sluice.State{Running: 1}, rows...)
	for i, r := range got {
		want := sluice.Ranking{Score: int64(i) << 40, VictimRank: int64(1000 - i), Flags: uint32(sluice.RankFlagProtected)}
		if !decided || r != want {
			t.Fatalf("row %d: %+v, decided %v", i, r, decided)
		}
	}
	if _, decided := g.Prioritize(&sluice.State{}); decided {
		t.Error("an abstention counts as a decision")
	}
}

func testBatchCap(t *testing.T, g *wasmtest.Guest) {
	st := &sluice.State{MaxNumSeqs: 12}
	st.Classes[15].Waiting = 34
	st.StepCostNS[127] = 56
	got, decided := g.BatchCap(st)
	want := sluice.BatchPlan{MaxSeqs: 12, MaxBatchedTokens: 56}
	want.ClassMaxSeqs[15] = 34
	if !decided || got != want {
		t.Errorf("got %+v, decided %v", got, decided)
	}
}

func testSpeculate(t *testing.T, g *wasmtest.Guest) {
	plan, k, decided := g.Speculate(&sluice.State{KMax: 5}, sluice.Row{SpeculationAllowed: 1}, sluice.Row{}, sluice.Row{SpeculationAllowed: 1})
	if !decided || plan != (sluice.SpecPlan{K: 5}) || !slices.Equal(k, []int32{-1, 0, -1}) {
		t.Errorf("plan %+v, k %v, decided %v", plan, k, decided)
	}
}

func testEventsAndState(t *testing.T, m *wasmtest.Module, g *wasmtest.Guest) {
	g.Events(&sluice.State{}, sluice.Event{Value: 300}, sluice.Event{Value: 7})
	saved := g.Save()
	if !slices.Equal(saved, []byte{51, 1}) {
		t.Fatalf("saved %v", saved)
	}
	next := m.Start(t)
	if err := next.Restore(saved); err != nil {
		t.Fatal(err)
	}
	next.Events(&sluice.State{}, sluice.Event{Value: 1})
	if again := next.Save(); !slices.Equal(again, []byte{52, 1}) {
		t.Errorf("saved %v after a restore", again)
	}
	if err := next.Restore([]byte{1}); err == nil {
		t.Error("it takes state that it must not understand")
	}
}

// A host that passes more than the descriptor offers gets a fault and not a trap.
func testOutOfRange(t *testing.T, g *wasmtest.Guest) {
	for _, export := range []string{"sluice_admit", "sluice_prioritize", "sluice_speculate", "sluice_events"} {
		for _, n := range []uint64{abi.MaxRows + 1, 1 << 31, 1<<32 - 1} {
			if ret := g.Call(export, n); ret != -1 {
				t.Errorf("%s(%d) returned %d", export, int32(n), ret)
			}
		}
	}
	for _, export := range []string{"sluice_configure", "sluice_restore"} {
		if ret := g.Call(export, 16<<10+1); ret != -1 {
			t.Errorf("%s returned %d", export, ret)
		}
	}
}

// The host's structs and the guest's are one memory layout.
func TestLayoutsAgree(t *testing.T) {
	for name, pair := range map[string][2]uintptr{
		"State":   {unsafe.Sizeof(abi.State{}), unsafe.Sizeof(sluice.State{})},
		"Row":     {unsafe.Sizeof(abi.Row{}), unsafe.Sizeof(sluice.Row{})},
		"Verdict": {unsafe.Sizeof(abi.Verdict{}), unsafe.Sizeof(sluice.Verdict{})},
	} {
		if pair[0] != pair[1] {
			t.Errorf("%s has %d bytes in the host and %d in the SDK", name, pair[0], pair[1])
		}
	}
	if sluice.MaxRows != abi.MaxRows || sluice.Classes != abi.Classes || sluice.MaxDraft != abi.MaxDraft {
		t.Error("the SDK's bounds are not the host's")
	}
}
