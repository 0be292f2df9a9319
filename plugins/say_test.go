package plugins_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/sluice-dev/sluice/plugins"
	"github.com/sluice-dev/sluice/plugins/abi"
	"github.com/sluice-dev/sluice/plugins/internal/guesttest"
)

// talker calls sluice.log(1, ptr, size) n times, and then admits, when it is armed.
func talker(n, ptr, size int32) []byte {
	return guesttest.Module{
		Imports: []guesttest.Func{{Export: "sluice.log", Params: "iii"}}, Data: strings.Repeat("drip\x1b[31m ", 10),
		Funcs: []guesttest.Func{guesttest.Hook(abi.ExportAdmit, guesttest.When(armed,
			guesttest.I32(n), guesttest.Set(1), guesttest.Loop(
				guesttest.I32(1), guesttest.I32(ptr), guesttest.I32(size), guesttest.Call(0),
				guesttest.Get(1), guesttest.I32(1), guesttest.Sub32, guesttest.Set(1), guesttest.Get(1), guesttest.BrIf(0)),
		), guesttest.I32(1))},
	}.Bytes()
}

func TestALogFloodIsLimitedTruncatedAndCounted(t *testing.T) {
	var log bytes.Buffer
	r := newRig(t, plugins.Options{Inline: true, Log: slog.New(slog.NewTextHandler(&log, nil))})
	r.push("p", talker(100, guesttest.Free, 1<<15))
	log.Reset()
	r.admit(armed, 1)
	p := r.info("p")
	if p.LogLines != 16 || p.LogLost != 84 || p.LogCut != 100 || p.Calls[0].Fallbacks["trap"]+p.Calls[0].Fallbacks["out_of_fuel"] != 0 {
		t.Errorf("counted %+v, want 16 lines passed on, 84 dropped, all truncated", p)
	}
	lines := strings.Split(strings.TrimSpace(log.String()), "\n")
	if len(lines) != 16 || strings.Contains(log.String(), "\x1b") || !strings.Contains(lines[0], "policy=p") {
		t.Errorf("logged %d lines: %.200s", len(lines), log.String())
	}
	for _, l := range lines {
		if len(l) > 1000 {
			t.Errorf("a line of %d bytes", len(l))
		}
	}
	// A second of the host's clock later there is room for four more.
	r.now += 1_000_000_000
	log.Reset()
	r.admit(armed, 1)
	if got := r.info("p").LogLines; got != 20 {
		t.Errorf("%d lines after another second, want 20", got)
	}
}

// What brings a new instance, a fault or growth, brings no new burst.
func TestANewInstanceMayLogNoMoreThanTheOneBeforeIt(t *testing.T) {
	flood := guesttest.Seq(guesttest.I32(20), guesttest.Set(1), guesttest.Loop(
		guesttest.I32(1), guesttest.I32(guesttest.Free), guesttest.I32(4), guesttest.Call(0),
		guesttest.Get(1), guesttest.I32(1), guesttest.Sub32, guesttest.Set(1), guesttest.Get(1), guesttest.BrIf(0)))
	for name, end := range map[string]guesttest.Code{
		"a fault": guesttest.Unreachable,
		"growth":  guesttest.Seq(guesttest.I32(13), guesttest.Grow, guesttest.Drop),
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, plugins.Options{Inline: true, FaultLimit: 100, Budget: plugins.Budget{Pages: 16}})
			r.push("p", guesttest.Module{
				Imports: []guesttest.Func{{Export: "sluice.log", Params: "iii"}},
				Funcs:   []guesttest.Func{guesttest.Hook(abi.ExportAdmit, guesttest.When(armed, flood, end), guesttest.I32(1))},
			}.Bytes())
			for range 10 {
				r.admit(armed, 1)
			}
			r.step()
			if p := r.info("p"); p.LogLines != 16 || p.LogLost != 184 || p.Recycled+p.Replaced != 10 {
				t.Errorf("%d lines passed on, %d dropped, over %d instances; want one burst of 16", p.LogLines, p.LogLost, p.Recycled+p.Replaced)
			}
		})
	}
}

func TestAFloodLongerThanTheFuelIsAFault(t *testing.T) {
	r := newRig(t, plugins.Options{Inline: true})
	r.push("p", talker(1<<30, guesttest.Free, 100))
	r.admit(armed, 1)
	if h := r.hook("p", "admit"); h.Fallbacks["out_of_fuel"] != 1 {
		t.Errorf("counted %+v, want the budget to end it", h)
	}
}

func TestAPointerOutsideMemoryReadsNothingAndIsCounted(t *testing.T) {
	for _, c := range []struct{ ptr, size int32 }{{-1, 1}, {0, -1}, {131072, 1}, {131071, 2}, {-5, 10}, {1 << 30, 1 << 30}} {
		var log bytes.Buffer
		r := newRig(t, plugins.Options{Inline: true, Log: slog.New(slog.NewTextHandler(&log, nil))})
		r.push("p", talker(1, c.ptr, c.size))
		log.Reset()
		r.admit(armed, 1)
		if p := r.info("p"); p.BadCalls != 1 || p.LogLines != 0 || log.Len() > 0 || p.Calls[0].Abstains != 1 {
			t.Errorf("log(%d, %d): counted %+v, logged %q; want one bad call and an answer", c.ptr, c.size, p, log.String())
		}
	}
}

func TestAPolicyPublishesNumbers(t *testing.T) {
	m := guesttest.Module{
		Imports: []guesttest.Func{{Export: "sluice.metric", Params: "il"}},
		Funcs: []guesttest.Func{guesttest.Hook(abi.ExportAdmit,
			guesttest.I32(3), guesttest.I64(-7), guesttest.Call(0),
			guesttest.I32(plugins.Metrics), guesttest.I64(1), guesttest.Call(0), guesttest.I32(1))},
	}
	r := newRig(t, plugins.Options{Inline: true})
	r.push("p", m.Bytes())
	r.admit(0, 1)
	p := r.info("p")
	if fmt.Sprint(p.Metrics) != "map[3:-7]" || p.BadCalls == 0 {
		t.Errorf("metrics %v, bad calls %d; want only number 3, and the other counted", p.Metrics, p.BadCalls)
	}
}

func TestClockAndRandomNumbersComeFromTheStateAlone(t *testing.T) {
	// It admits one row with the low half of clock and random number in its verdict's limits.
	m := guesttest.Module{
		Imports: []guesttest.Func{
			{Export: "wasi_snapshot_preview1.clock_time_get", Params: "ili", Results: "i"},
			{Export: "wasi_snapshot_preview1.random_get", Params: "ii", Results: "i"},
		},
		Funcs: []guesttest.Func{guesttest.Hook(abi.ExportAdmit,
			guesttest.Put32(guesttest.OutPtr, 1|0xff<<8),
			guesttest.I32(1), guesttest.I64(0), guesttest.I32(guesttest.Free), guesttest.Call(0), guesttest.Drop,
			guesttest.I32(guesttest.Free+8), guesttest.I32(8), guesttest.Call(1), guesttest.Drop,
			guesttest.I32(guesttest.OutPtr), guesttest.I32(guesttest.Free), guesttest.Load32(0), guesttest.Store32(12),
			guesttest.I32(guesttest.OutPtr), guesttest.I32(guesttest.Free+8), guesttest.Load32(0), guesttest.Store32(16),
			guesttest.I32(0))},
	}
	draw := func(now int64, seed uint64) abi.Verdict {
		r := newRig(t, plugins.Options{Inline: true})
		r.push("p", m.Bytes())
		out := make([]abi.Verdict, 1)
		r.step().Admit(&abi.State{NowNS: now, RngSeed: seed}, numbered(1), out, make([]abi.PolicyID, 1))
		return out[0]
	}
	first := draw(123_456, 9)
	if first.QueueTTLMs != 123_456 {
		t.Errorf("the clock shows %d, want now_ns", first.QueueTTLMs)
	}
	if again := draw(123_456, 9); again != first {
		t.Errorf("the same state drew %+v and %+v", first, again)
	}
	if other := draw(123_456, 10); other.MaxTokensCap == first.MaxTokensCap {
		t.Error("another seed drew the same number")
	}
}
