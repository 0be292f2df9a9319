package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// counting serves three tokens to each request after a while, and remembers the most that it had at a time.
func counting(t *testing.T) (c *client, most *atomic.Int64) {
	t.Helper()
	var now atomic.Int64
	most = &atomic.Int64{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		n := now.Add(1)
		for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
		}
		time.Sleep(10 * time.Millisecond)
		_, _ = w.Write([]byte(token("a") + usage + done))
		now.Add(-1)
	}))
	t.Cleanup(s.Close)
	return newClient(s.URL), most
}

func TestClosedLoopHoldsItsWorkers(t *testing.T) {
	c, most := counting(t)
	answers := closed(t.Context(), c, 3, newPrompts(1).asks(12, 4, 3))
	served, refused, err := split(answers)
	if err != nil || len(served) != 12 || refused != 0 || most.Load() != 3 {
		t.Errorf("%d served, %d refused, %d at a time, %v", len(served), refused, most.Load(), err)
	}
	if r := perSecond(answers); r <= 0 || r > 3*3/0.010 {
		t.Errorf("%.0f tokens/s from three workers with 3 tokens each 10 ms at least", r)
	}
}

// An open loop sends at the time of an arrival even while those before it are unanswered.
func TestOpenLoopKeepsItsTimes(t *testing.T) {
	c, _ := counting(t)
	arrivals := poisson(200, 200*time.Millisecond)
	for i := range arrivals {
		arrivals[i].tokens = 3
	}
	answers := open(t.Context(), c, time.Now(), arrivals)
	for i, a := range answers {
		if !a.served() || a.sent < arrivals[i].at {
			t.Errorf("arrival %d at %v was sent at %v: %v", i, arrivals[i].at, a.sent, a.err)
		}
	}
}

func TestUntilLetsWhatRunsEnd(t *testing.T) {
	c, _ := counting(t)
	p := newPrompts(1)
	answers := until(t.Context(), c, time.Now(), 35*time.Millisecond, 2, func() ask { return ask{prompt: p.next(2), tokens: 3} })
	if served, _, err := split(answers); err != nil || len(served) < 2 {
		t.Errorf("%d served, %v", len(served), err)
	}
}

func TestPoissonIsTheSameEachTime(t *testing.T) {
	a, b := poisson(50, 10*time.Second), poisson(50, 10*time.Second)
	if len(a) < 400 || len(a) > 600 || len(a) != len(b) {
		t.Fatalf("%d and %d arrivals of about 500", len(a), len(b))
	}
	seen := map[string]bool{}
	for i := range a {
		if a[i].at != b[i].at || a[i].prompt != b[i].prompt {
			t.Fatalf("arrival %d differs", i)
		}
		if seen[a[i].prompt] || strings.Count(a[i].prompt, " ") != overloadPrompt {
			t.Fatalf("prompt %d: %q", i, a[i].prompt)
		}
		seen[a[i].prompt] = true
	}
}
