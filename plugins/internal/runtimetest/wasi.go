package runtimetest

import (
	"encoding/binary"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/sluice-dev/sluice/plugins"
	"github.com/sluice-dev/sluice/plugins/abi"
	"github.com/sluice-dev/sluice/plugins/internal/guesttest"
)

const (
	out     = guesttest.Free + 256
	success = 0
	badFile = 8
	fault   = 21
	invalid = 28
)

// ask imports one WASI function, calls it with the arguments, and returns its answer and the instance.
func ask(t *testing.T, with Maker, name, params string, args ...int64) (int64, plugins.Instance, *ear) {
	t.Helper()
	var code guesttest.Code
	for k, p := range params {
		if p == 'l' {
			code = append(code, guesttest.I64(args[k])...)
		} else {
			code = append(code, guesttest.I32(int32(args[k]))...)
		}
	}
	i, e := start(t, open(t, with, ""), one(wasi(name, params), code, guesttest.Call(0)))
	ret, err := call(i)
	if err != nil {
		t.Fatalf("%s%v: %v", name, args, err)
	}
	return ret, i, e
}

func word(t *testing.T, i plugins.Instance, at uint32) uint64 {
	t.Helper()
	b, ok := i.Read(at, 8)
	if !ok {
		t.Fatal("cannot read the guest's memory")
	}
	return binary.LittleEndian.Uint64(b)
}

func thereAreNoArgumentsEnvironmentOrFiles(t *testing.T, with Maker) {
	for _, c := range []struct {
		name, params string
		args         []int64
		want         int64
	}{
		{"args_get", "ii", []int64{out, out}, success},
		{"args_sizes_get", "ii", []int64{out, out + 4}, success},
		{"environ_get", "ii", []int64{out, out}, success},
		{"environ_sizes_get", "ii", []int64{out, out + 4}, success},
		{"fd_prestat_get", "ii", []int64{3, out}, badFile},
		{"fd_prestat_dir_name", "iii", []int64{3, out, 8}, badFile},
		{"fd_close", "i", []int64{3}, badFile},
		{"fd_close", "i", []int64{1}, success},
		{"fd_seek", "ilii", []int64{1, 0, 0, out}, 70},
		{"fd_read", "iiii", []int64{0, out, 0, out}, success},
		{"fd_read", "iiii", []int64{5, out, 0, out}, badFile},
		{"fd_write", "iiii", []int64{5, out, 0, out}, badFile},
		{"fd_fdstat_get", "ii", []int64{1, out}, success},
		{"fd_fdstat_get", "ii", []int64{4, out}, badFile},
		{"fd_fdstat_set_flags", "ii", []int64{1, 0}, success},
		{"clock_res_get", "ii", []int64{0, out}, success},
		{"sched_yield", "", nil, success},
		{"poll_oneoff", "iiii", []int64{out, out, 0, out}, invalid},
	} {
		if got, _, _ := ask(t, with, c.name, c.params, c.args...); got != c.want {
			t.Errorf("%s%v = %d, want %d", c.name, c.args, got, c.want)
		}
	}
}

func clocksShowTheCallsTimeAndRandomBytesFollowFromItsSeed(t *testing.T, with Maker) {
	for clock := range int64(4) {
		if ret, i, _ := ask(t, with, "clock_time_get", "ili", clock, 0, out); ret != success || word(t, i, out) != 42 {
			t.Errorf("clock %d shows %d, want the call's 42", clock, word(t, i, out))
		}
	}
	_, a, _ := ask(t, with, "random_get", "ii", out, 13)
	_, b, _ := ask(t, with, "random_get", "ii", out, 13)
	if word(t, a, out) != word(t, b, out) || word(t, a, out) == 0 {
		t.Errorf("the same seed gave %x and %x", word(t, a, out), word(t, b, out))
	}
	if x := word(t, a, out+8); x == 0 || x >= 1<<40 {
		t.Errorf("the second word is %x, want the 5 bytes that were asked for", x)
	}
}

func sleepingTakesNoTime(t *testing.T, with Maker) {
	// One subscription of user data 77 to a clock, an hour from now.
	i, _ := start(t, open(t, with, ""), one(wasi("poll_oneoff", "iiii"),
		guesttest.Put64(guesttest.Free, 77), guesttest.Put64(guesttest.Free+24, 3_600_000_000_000), guesttest.Put64(out, -1),
		guesttest.I32(guesttest.Free), guesttest.I32(out), guesttest.I32(1), guesttest.I32(out+64), guesttest.Call(0)))
	if ret, err := call(i); ret != success || err != nil {
		t.Fatalf("returned %d, %v", ret, err)
	}
	if word(t, i, out) != 77 || word(t, i, out+8) != 0 || uint32(word(t, i, out+64)) != 1 {
		t.Errorf("event %d %x, %d of them; want user data 77 without an error, once", word(t, i, out), word(t, i, out+8), word(t, i, out+64))
	}
}

func whatIsPrintedBecomesLogLines(t *testing.T, with Maker) {
	text := "panic: b\x07oom\nsecond" // the second line never ends
	m := guesttest.Module{
		Imports: append(wasi("fd_write", "iiii"), guesttest.Func{Export: "wasi_snapshot_preview1.proc_exit", Params: "i"}), Data: text,
		Funcs: []guesttest.Func{guesttest.Hook(abi.ExportAdmit,
			guesttest.Put32(out, guesttest.Free), guesttest.Put32(out+4, int32(len(text))),
			guesttest.I32(2), guesttest.I32(out), guesttest.I32(1), guesttest.I32(out+64), guesttest.Call(0), guesttest.Drop,
			guesttest.I32(3), guesttest.Call(1), guesttest.I32(0))},
	}
	i, e := start(t, open(t, with, ""), m.Bytes())
	_, err := call(i)
	var trap *plugins.Trap
	if !errors.As(err, &trap) || trap.Cause != "it exited with code 3" || trap.Said != "panic: b?oom" {
		t.Errorf("got %v, want the exit and what it said", err)
	}
	if !slices.Equal(e.lines, []string{"panic: b?oom"}) || e.levels[0] != 1 {
		t.Errorf("logged %q at %v, want one warning", e.lines, e.levels)
	}
}

func aLineIsCutNotItsMeaning(t *testing.T, with Maker) {
	long := strings.Repeat("ä", plugins.MaxLogBytes)
	m := guesttest.Module{
		Imports: []guesttest.Func{{Export: "sluice.log", Params: "iii"}}, Data: long,
		Funcs: []guesttest.Func{guesttest.Hook(abi.ExportAdmit,
			guesttest.I32(0), guesttest.I32(guesttest.Free), guesttest.I32(int32(len(long))), guesttest.Call(0), guesttest.I32(0))},
	}
	i, e := start(t, open(t, with, ""), m.Bytes())
	if _, err := call(i); err != nil {
		t.Fatal(err)
	}
	if e.truncated != 1 || e.lines[0] != long[:plugins.MaxLogBytes] {
		t.Errorf("truncated %d times, line of %d bytes", e.truncated, len(e.lines[0]))
	}
}
