package loadtools

import (
	"errors"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/sluice-dev/sluice/gpu"
	"github.com/sluice-dev/sluice/host/engine"
	"github.com/sluice-dev/sluice/host/sched"
	"github.com/sluice-dev/sluice/host/server"
	"github.com/sluice-dev/sluice/host/server/servertest"
	"github.com/sluice-dev/sluice/host/trace"
)

const (
	requests    = 20
	prompt      = 192
	output      = 16
	agreement   = 0.10 // of a tool's TTFT with the server's own
	beforeFault = 5
)

// each runs a test for every tool, against a server of its own.
func each(t *testing.T, o func() servertest.Options, test func(t *testing.T, run tool, s *servertest.Server)) {
	if os.Getenv("SLUICE_LOAD_TOOLS") == "" {
		t.Skip("SLUICE_LOAD_TOOLS is not set: make clients installs the tools and runs this")
	}
	for name, run := range tools {
		t.Run(name, func(t *testing.T) { test(t, run, servertest.StartModel(t, o())) })
	}
}

// checkServed holds that all requests count as successes with the length that was asked for.
func checkServed(t *testing.T, got outcome) {
	t.Helper()
	if got.failed != 0 || !slices.Equal(got.lengths, slices.Repeat([]int{output}, requests)) {
		t.Errorf("%d failed, lengths of the successes: %v", got.failed, got.lengths)
	}
}

// last are the records of the newest n requests: some tools send one before they measure.
func last(t *testing.T, s *servertest.Server, n int) []trace.Record {
	t.Helper()
	records := s.Records()
	if len(records) < n {
		t.Fatalf("the server recorded %d requests of %d", len(records), n)
	}
	slices.SortFunc(records, func(a, b trace.Record) int { return int(a.Arrival - b.Arrival) })
	return records[len(records)-n:]
}

// Every tool counts 20 successes of the right length, and its median TTFT is the server's own.
func TestToolsAgreeWithTheServer(t *testing.T) {
	plain := func() servertest.Options { return servertest.Options{} }
	each(t, plain, func(t *testing.T, run tool, s *servertest.Server) {
		got := run(t, job{url: s.URL, model: s.Info.Model, requests: requests, streams: 2})
		checkServed(t, got)
		var waits []float64
		for _, r := range last(t, s, requests) {
			if r.OutputTokens != output || r.TTFT == nil {
				t.Fatalf("the server recorded %+v", r)
			}
			waits = append(waits, float64(*r.TTFT)/1e6)
		}
		// Half of an even number: the tools differ in which of the two middle ones, or what between them, they take.
		slices.Sort(waits)
		low, high := waits[requests/2-1], waits[requests/2]
		t.Logf("median TTFT: %.1f ms, the server's own: %.1f to %.1f ms", got.ttft, low, high)
		if got.ttft < low*(1-agreement) || got.ttft > high*(1+agreement) {
			t.Errorf("median TTFT is %.1f ms, the server's own is %.1f to %.1f ms", got.ttft, low, high)
		}
	})
}

// What waits while the stream is kept alive for two periods and more is a success like any other.
func TestLongQueue(t *testing.T) {
	const period = 100 * time.Millisecond
	narrow := func() servertest.Options {
		return servertest.Options{
			Engine: func(c *engine.Config) { c.Sched.MaxSeqs = 1 },
			Server: func(c *server.Config) { c.Settings.EarlyHeaders, c.Settings.KeepAlive = period/10, period },
		}
	}
	each(t, narrow, func(t *testing.T, run tool, s *servertest.Server) {
		checkServed(t, run(t, job{url: s.URL, model: s.Info.Model, requests: requests, streams: 4}))
		long := 0
		for _, r := range last(t, s, requests) {
			if r.Queue != nil && *r.Queue > int64(2*period) {
				long++
			}
		}
		if long < requests/2 {
			t.Errorf("%d of %d requests waited for two periods: this shows nothing", long, requests)
		}
	})
}

// failing is a device that fails for every second request, in the step in which it would get the token after beforeFault. One
// request runs at a time.
type failing struct {
	gpu.Device
	requests int
	sampled  int // of the newest request
	pos      int // its newest position
}

func (f *failing) Forward(b *gpu.Batch) error {
	for _, item := range b.Items {
		if f.requests == 0 || item.Pos <= f.pos { // a new prompt, whose beginning may be there already
			f.requests++
			f.sampled = 0
		}
		f.pos = item.Pos
		if item.Logits > 0 {
			f.sampled++
		}
	}
	if f.requests%2 == 1 && f.sampled > beforeFault {
		return errors.New("the device is broken")
	}
	return f.Device.Forward(b)
}

// An answer that the device cuts after five tokens is a failure for every tool, and those beside it are successes.
func TestFaultCounts(t *testing.T) {
	const asked = 6
	broken := func() servertest.Options {
		return servertest.Options{Engine: func(c *engine.Config) {
			c.Device = &failing{Device: c.Device}
			c.Sched.MaxSeqs, c.Sched.MaxDraft = 1, 0 // one token a step
		}}
	}
	each(t, broken, func(t *testing.T, run tool, s *servertest.Server) {
		got := run(t, job{url: s.URL, model: s.Info.Model, requests: asked, streams: 1})
		if got.failed != asked/2 || !slices.Equal(got.lengths, slices.Repeat([]int{output}, asked/2)) {
			t.Errorf("%d of %d failed, lengths of the successes: %v", got.failed, asked, got.lengths)
		}
		failed := slices.DeleteFunc(last(t, s, asked), func(r trace.Record) bool { return r.Outcome != sched.OutcomeFailed.String() })
		for _, r := range failed {
			if r.OutputTokens != beforeFault {
				t.Errorf("the server recorded a failure after %d tokens", r.OutputTokens)
			}
		}
		if len(failed) != asked/2 {
			t.Errorf("the server recorded %d failures", len(failed))
		}
	})
}
