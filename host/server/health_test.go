package server_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluice-dev/sluice/gpu"
	"github.com/sluice-dev/sluice/gpu/sim"
	"github.com/sluice-dev/sluice/host/engine"
	"github.com/sluice-dev/sluice/host/sched"
	"github.com/sluice-dev/sluice/host/server"
)

// Whether the process lives has nothing to do with its load: a full queue refuses requests, and nobody restarts the server for it.
func TestAFullQueueIsNoReasonToRestart(t *testing.T) {
	o := slow(1)
	o.Engine = func(c *engine.Config) { c.Sched.MaxWaiting = 1 }
	f := start(t, o)
	f.dial(t, "/v1/completions", long("", true))
	f.Await(t, "ran", running(1))
	f.dial(t, "/v1/completions", long("", true))
	f.Await(t, "waited", waiting(1))
	if resp, body := f.post(t, "/v1/completions", `{"prompt":"x"}`); resp.StatusCode != 503 || readError(t, body).Error.Code != "queue_full" {
		t.Fatalf("%d %s", resp.StatusCode, body)
	}
	for _, path := range []string{"/health", "/healthz", "/livez", "/readyz"} {
		if resp, body := f.get(t, path); resp.StatusCode != 200 {
			t.Errorf("%s: %d %s", path, resp.StatusCode, body)
		}
	}
}

// A device that does not come back takes the server out of the balancer's list, and not more than that.
func TestAStalledDeviceIsNotReady(t *testing.T) {
	release := make(chan struct{})
	o := options{Sim: sim.Options{Fault: func(step uint64, _ *gpu.Batch) error {
		if step == 2 {
			<-release
		}
		return nil
	}}}
	o.Engine = func(c *engine.Config) { c.StallAfter = 20 * time.Millisecond }
	f := start(t, o)
	f.dial(t, "/v1/completions", long("", true))
	f.awaitNotReady(t)
	if _, body := f.get(t, "/readyz"); !strings.Contains(string(body), "device step") {
		t.Errorf("readyz says %q", body)
	}
	if resp, _ := f.get(t, "/health"); resp.StatusCode != 200 {
		t.Errorf("health: %d", resp.StatusCode)
	}
	for header, code := range map[string]string{"x-sluice-queue-ttl": "ttl", "x-sluice-deadline": "deadline"} {
		resp, body := f.post(t, "/v1/completions", `{"prompt":"x","max_tokens":2}`, header, "20ms")
		if e := readError(t, body); resp.StatusCode != 503 || e.Error.Code != code {
			t.Errorf("a request whose %s passes during the step: %d %s", code, resp.StatusCode, body)
		}
	}
	close(release)
	for {
		if resp, _ := f.get(t, "/readyz"); resp.StatusCode == 200 {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

// A device that fails again and again takes the server out of the balancer's list until a step succeeds.
func TestADeviceThatFailsIsNotReadyUntilItWorks(t *testing.T) {
	var broken atomic.Bool
	broken.Store(true)
	f := start(t, options{Sim: sim.Options{Fault: func(uint64, *gpu.Batch) error {
		if broken.Load() {
			return errors.New("out of order")
		}
		return nil
	}}})
	for range 3 {
		if resp, body := f.post(t, "/v1/completions", `{"prompt":"x","max_tokens":2}`); resp.StatusCode != 500 || readError(t, body).Error.Code != "device_failed" {
			t.Errorf("a request whose step fails: %d %s", resp.StatusCode, body)
		}
	}
	f.awaitNotReady(t)
	if resp, _ := f.get(t, "/livez"); resp.StatusCode != 200 {
		t.Errorf("livez: %d", resp.StatusCode)
	}
	broken.Store(false)
	if resp, body := f.post(t, "/v1/completions", `{"prompt":"x","max_tokens":2}`); resp.StatusCode != 200 {
		t.Errorf("a request to the device that works: %d %s", resp.StatusCode, body)
	}
	if resp, body := f.get(t, "/readyz"); resp.StatusCode != 200 {
		t.Errorf("readyz: %d %s", resp.StatusCode, body)
	}
}

// Readiness fails first; requests that come before the balancer has seen it are served.
func TestReadinessFailsBeforeRequestsAreRefused(t *testing.T) {
	f := start(t, options{})
	f.Leave()
	if resp, body := f.get(t, "/readyz"); resp.StatusCode != 503 || string(body) != "draining\n" {
		t.Errorf("readyz: %d %s", resp.StatusCode, body)
	}
	if resp, _ := f.get(t, "/health"); resp.StatusCode != 200 {
		t.Errorf("health: %d", resp.StatusCode)
	}
	if resp, body := f.post(t, "/v1/completions", `{"prompt":"x","max_tokens":2}`); resp.StatusCode != 200 {
		t.Errorf("a late request: %d %s", resp.StatusCode, body)
	}
}

// Settings and limits that change while the server runs count from the next request on, and what runs does not notice.
func TestSettingsChangeWhileItServes(t *testing.T) {
	o := slow(1)
	f := start(t, o)
	c, r := f.dial(t, "/v1/completions", long("", true))
	defer c.Close()
	f.Await(t, "ran", running(1))
	s := server.Settings{DrainingStatus: 529}
	s.QueueTTL[0] = 30 * time.Millisecond
	if err := f.Set(s); err != nil {
		t.Fatal(err)
	}
	resp, body := f.post(t, "/v1/completions", `{"prompt":"x"}`)
	if e := readError(t, body); resp.StatusCode != 503 || e.Error.Code != "ttl" {
		t.Errorf("after the TTL was set: %d %s", resp.StatusCode, body)
	}
	limits := f.Sched
	limits.MaxWaiting, limits.Statuses.TTL, limits.Statuses.QueueFull = 1, 504, 429
	if err := f.Engine.SetSched(context.Background(), limits); err != nil {
		t.Fatal(err)
	}
	if resp, body = f.post(t, "/v1/completions", `{"prompt":"x"}`); resp.StatusCode != 504 {
		t.Errorf("after the status was set: %d %s", resp.StatusCode, body)
	}
	f.dial(t, "/v1/completions", long("", true), "x-sluice-class", "batch")
	f.Await(t, "waited", waiting(1))
	if resp, body = f.post(t, "/v1/completions", `{"prompt":"x"}`); resp.StatusCode != 429 || readError(t, body).Error.Code != "queue_full" {
		t.Errorf("after the limit was set: %d %s", resp.StatusCode, body)
	}
	limits.MaxSeqs++
	if err := f.Engine.SetSched(context.Background(), limits); err == nil {
		t.Error("the size of the batch was changed")
	}
	if answer, err := readHTTP(r); err != nil || answer.StatusCode != 200 {
		t.Errorf("the request that ran: %v", err)
	} else {
		answer.Body.Close()
	}
	ctx, cancel := context.WithCancel(context.Background())
	go func() { _ = f.Shutdown(ctx) }()
	f.awaitNotReady(t)
	if resp, _ := f.post(t, "/v1/completions", `{"prompt":"x"}`); resp.StatusCode != 529 {
		t.Errorf("while it drains: %d", resp.StatusCode)
	}
	cancel()
}

// A class has a time in the queue, and a client can only ask for less.
func TestAClientCanOnlyShortenItsTimeInTheQueue(t *testing.T) {
	o := slow(1)
	o.Server = func(c *server.Config) { c.Settings.QueueTTL[0] = 10 * time.Second }
	f := start(t, o)
	for i, c := range []struct {
		header string
		want   time.Duration
	}{{"", 10 * time.Second}, {"3s", 3 * time.Second}, {"1h", 10 * time.Second}} {
		headers := []string{}
		if c.header != "" {
			headers = []string{"x-sluice-queue-ttl", c.header}
		}
		f.post(t, "/v1/completions", `{"prompt":"x","max_tokens":1}`, headers...)
		if got := f.lastTTL(t, i+1); got != c.want {
			t.Errorf("asked for %q: %v, want %v", c.header, got, c.want)
		}
	}
	f.post(t, "/v1/completions", `{"prompt":"x","max_tokens":1,"queue_ttl":"2s","class":"batch"}`)
	if got := f.lastTTL(t, 4); got != 2*time.Second {
		t.Errorf("a class without one, asked for 2s: %v", got)
	}
}

func (f *fixture) lastTTL(t *testing.T, records int) time.Duration {
	t.Helper()
	f.Await(t, "recorded it", func(engine.Snapshot) bool { return len(f.Records()) == records })
	return time.Duration(f.Records()[records-1].TTL)
}

// Each rule's status is the operator's to choose, the reason stays the same, and contention looks different from going away.
func TestTheStatusOfEachRuleCanBeChosen(t *testing.T) {
	o := slow(1)
	o.Engine = func(c *engine.Config) {
		c.Sched.MaxWaiting = 1
		c.Sched.Statuses = sched.Statuses{QueueFull: 429, TTL: 504, Deadline: 529, Draining: 503, Capacity: 529}
	}
	f := start(t, o)
	f.dial(t, "/v1/completions", long("", true))
	f.Await(t, "ran", running(1))
	for _, c := range []struct {
		header, value, reason string
		status                int
	}{{"x-sluice-queue-ttl", "20ms", "ttl", 504}, {"x-sluice-deadline", "20ms", "deadline", 529}} {
		resp, body := f.post(t, "/v1/completions", `{"prompt":"x"}`, c.header, c.value)
		e := readError(t, body)
		retry := resp.Header.Get("Retry-After") != "" || resp.Header.Get("x-should-retry") == "false"
		if resp.StatusCode != c.status || e.Error.Code != c.reason || resp.Header.Get("x-sluice-reason") != c.reason || !retry {
			t.Errorf("%s: %d %v %s", c.reason, resp.StatusCode, resp.Header, body)
		}
	}
	f.dial(t, "/v1/completions", long("", true))
	f.Await(t, "waited", waiting(1))
	resp, body := f.post(t, "/v1/completions", `{"prompt":"x"}`)
	if resp.StatusCode != 429 || resp.Header.Get("x-sluice-reason") != "queue_full" || resp.Header.Get("Retry-After") == "" {
		t.Errorf("queue_full: %d %v %s", resp.StatusCode, resp.Header, body)
	}
}
