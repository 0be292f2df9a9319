package main

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/sluice-dev/sluice/policies/wasmtest"
	sluice "github.com/sluice-dev/sluice/sdk/go"
	"github.com/sluice-dev/sluice/sdk/go/sluicetest"
)

const (
	ms  = sluice.Millisecond
	sec = sluice.Second
	now = 3600 * sec
)

func row(phase sluice.Phase, class uint8, wait int64) sluice.Row {
	return sluice.Row{Phase: uint8(phase), Class: class, WaitNS: wait, AgeNS: wait, ArrivalNS: now - wait, EnqueueNS: now - wait}
}

// state is one in which rows wait, and nothing else is known.
func state(rows ...sluice.Row) *sluice.State {
	st := &sluice.State{NowNS: now}
	for _, r := range rows {
		if r.In(sluice.PhaseQueued) {
			k := &st.Classes[r.Class]
			k.Waiting++
			k.OldestWaitNS = max(k.OldestWaitNS, r.WaitNS)
			st.WaitingRequests++
		}
	}
	return st
}

// say writes a verdict as the tables below do.
func say(v sluice.Verdict) string {
	switch {
	case v == sluice.Abstain():
		return "-"
	case v.Action == uint8(sluice.ActionReject) && v.RetryAfterMs == 0:
		return itoa(v.Status) + " " + sluice.Reason(v.Reason).String()
	}
	return "?"
}

func itoa(x uint16) string {
	return string([]byte{byte('0' + x/100), byte('0' + x/10%10), byte('0' + x%10)})
}

const (
	arrival   = sluice.PhaseArrival
	queued    = sluice.PhaseQueued
	running   = sluice.PhaseRunning
	preempted = sluice.PhasePreempted
)

func TestQueueAge(t *testing.T) {
	for _, c := range []struct {
		name     string
		settings []string
		row      sluice.Row
		want     string
	}{
		{"young enough", nil, row(queued, 0, 10*sec), "-"},
		{"too old", nil, row(queued, 0, 10*sec+1), "503 queue_age"},
		{"a shorter age", []string{"max_age", "2s"}, row(queued, 0, 2*sec+1), "503 queue_age"},
		{"every class by default", []string{"max_age", "2s"}, row(queued, 15, 2*sec+1), "503 queue_age"},
		{"a class with a longer age", []string{"max_age", "2s", "max_age.1", "30s"}, row(queued, 1, 20*sec), "-"},
		{"that age is over as well", []string{"max_age", "2s", "max_age.1", "30s"}, row(queued, 1, 31*sec), "503 queue_age"},
		{"the others keep theirs", []string{"max_age", "2s", "max_age.1", "30s"}, row(queued, 0, 3*sec), "503 queue_age"},
		{"another status", []string{"status", "529"}, row(queued, 0, 11*sec), "529 queue_age"},
		{"one that runs", nil, row(running, 0, 100*sec), "-"},
		{"one that was preempted", nil, row(preempted, 0, 100*sec), "-"},
		{"one that arrives", nil, row(arrival, 0, 100*sec), "-"},
	} {
		p := sluicetest.New(t, &policy{}, c.settings...)
		if got := say(p.Admit(state(c.row), c.row)[0]); got != c.want {
			t.Errorf("%s: %s, not %s", c.name, got, c.want)
		}
	}
}

// Batch gives way before interactive is late.
func TestBatchIsShedFirst(t *testing.T) {
	for _, c := range []struct {
		name     string
		settings []string
		oldest   int64 // of class 0
		wait     int64 // of the row in class 1
		want     string
	}{
		{"interactive waits briefly", nil, 4 * sec, 8 * sec, "-"},
		{"interactive has waited half of its time", nil, 5*sec + 1, 8 * sec, "503 priority"},
		{"exactly half is not pressure", nil, 5 * sec, 8 * sec, "-"},
		{"so has batch, just", nil, 6 * sec, 5*sec + 1, "503 priority"},
		{"batch has not", nil, 9 * sec, 5 * sec, "-"},
		{"its own age is not over yet", nil, 9 * sec, 10 * sec, "503 priority"},
		{"batch is late by itself", nil, 9 * sec, 11 * sec, "503 queue_age"},
		{"the rule is off", []string{"pressure", "1"}, 9 * sec, 8 * sec, "-"},
		{"an earlier pressure", []string{"pressure", "20%"}, 3 * sec, 2*sec + 1, "503 priority"},
		{"batch has an age of its own", []string{"max_age.1", "30s"}, 9 * sec, 14 * sec, "-"},
	} {
		p := sluicetest.New(t, &policy{}, c.settings...)
		first, batch := row(queued, 0, c.oldest), row(queued, 1, c.wait)
		got := p.Admit(state(first, batch), first, batch)
		if say(got[0]) != "-" || say(got[1]) != c.want {
			t.Errorf("%s: %s and %s, not - and %s", c.name, say(got[0]), say(got[1]), c.want)
		}
	}
}

// While all classes have one age, no call sheds a request and keeps a less important one that has waited as long.
func TestShedsUpwards(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		p := sluicetest.New(t, &policy{}, "pressure", rapid.SampledFrom([]string{"0", "0.3", "0.5", "1"}).Draw(rt, "pressure"))
		rows := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) sluice.Row {
			return row(queued, rapid.Uint8Range(0, 15).Draw(t, "class"), rapid.Int64Range(0, 20*sec).Draw(t, "wait"))
		}), 1, 40).Draw(rt, "rows")
		out := p.Admit(state(rows...), rows...)
		for i := range rows {
			for j := range rows {
				shed, kept := say(out[i]) != "-", say(out[j]) == "-"
				if shed && kept && rows[j].Class >= rows[i].Class && rows[j].WaitNS >= rows[i].WaitNS {
					rt.Fatalf("class %d is shed after %d ns, class %d waits on after %d", rows[i].Class, rows[i].WaitNS, rows[j].Class, rows[j].WaitNS)
				}
			}
		}
	})
}

// arriving is a server with a queue of n in class 0 and n in class 1, in which a newcomer would wait ns.
func arriving(n uint32, ns int64) *sluice.State {
	st := &sluice.State{NowNS: now, WaitingRequests: 2 * n, EstimatedWaitNS: ns, Valid: sluice.StateHasEstimatedWaitNS}
	st.Classes[0].Waiting, st.Classes[1].Waiting = n, n
	return st
}

func TestArrivals(t *testing.T) {
	unknown := arriving(10, 100*sec)
	unknown.Valid = 0
	for _, c := range []struct {
		name     string
		settings []string
		st       *sluice.State
		class    uint8
		want     string
	}{
		{"off by default", nil, arriving(10, 100*sec), 1, "-"},
		{"short enough", []string{"arrival_factor", "2"}, arriving(10, 20*sec), 1, "-"},
		{"would wait too long", []string{"arrival_factor", "2"}, arriving(10, 21*sec), 1, "503 queue_age"},
		{"batch is not ahead of interactive", []string{"arrival_factor", "2"}, arriving(10, 39*sec), 0, "-"},
		{"interactive would wait too long", []string{"arrival_factor", "2"}, arriving(10, 41*sec), 0, "503 queue_age"},
		{"nothing is known", []string{"arrival_factor", "2"}, unknown, 1, "-"},
		{"nothing waits", []string{"arrival_factor", "2"}, &sluice.State{NowNS: now, Valid: sluice.StateHasEstimatedWaitNS}, 1, "-"},
		{"the longest times", []string{"arrival_factor", "1000", "max_age", "24h"}, arriving(10, 1000*24*3600*sec), 1, "-"},
		{"and longer", []string{"arrival_factor", "1000", "max_age", "24h"}, arriving(10, 1001*24*3600*sec), 1, "503 queue_age"},
		{"a class of its own", []string{"arrival_factor", "1", "max_age.1", "1s"}, arriving(10, 2*sec), 1, "503 queue_age"},
	} {
		p := sluicetest.New(t, &policy{}, c.settings...)
		if got := say(p.Admit(c.st, row(arrival, c.class, 0))[0]); got != c.want {
			t.Errorf("%s: %s, not %s", c.name, got, c.want)
		}
	}
}

// A burst does not read one estimate n times: those let in count for those behind them.
func TestBurst(t *testing.T) {
	p := sluicetest.New(t, &policy{}, "arrival_factor", "1", "max_age", "10s")
	var burst []sluice.Row
	for range 100 {
		burst = append(burst, row(arrival, 0, 0))
	}
	st := &sluice.State{NowNS: now, WaitingRequests: 50, EstimatedWaitNS: 5 * sec, Valid: sluice.StateHasEstimatedWaitNS}
	st.Classes[0].Waiting = 50
	in := 0
	for i, v := range p.Admit(st, burst...) {
		if say(v) == "-" {
			in++
		} else if i < 51 {
			t.Errorf("request %d is rejected", i)
		}
	}
	if in != 51 { // 50 wait for 5 s: each adds 100 ms, and 10 s are allowed
		t.Errorf("%d are let in", in)
	}
}

// What waited through a pause starts afresh: it is not all shed in the moment in which the server goes on.
func TestPause(t *testing.T) {
	p := sluicetest.New(t, &policy{}, "max_age", "10s")
	old := row(queued, 0, 60*sec)
	at := func(ns int64, host sluice.HostState) string {
		st := state(old)
		st.NowNS, st.HostState = now+ns, uint8(host)
		return say(p.Admit(st, old)[0])
	}
	for _, s := range []struct {
		ns   int64
		host sluice.HostState
		want string
	}{
		{0, sluice.HostStatePaused, "-"},
		{60 * sec, sluice.HostStatePaused, "-"},
		{61 * sec, sluice.HostStateRunning, "-"},
		{71 * sec, sluice.HostStateRunning, "-"},
		{71*sec + 1, sluice.HostStateRunning, "503 queue_age"},
	} {
		if got := at(s.ns, s.host); got != s.want {
			t.Errorf("after %d ms: %s, not %s", s.ns/ms, got, s.want)
		}
	}
}

// Nor does the pause count as pressure on batch.
func TestPauseIsNoPressure(t *testing.T) {
	p := sluicetest.New(t, &policy{}, "max_age", "10s", "max_age.1", "8s")
	chat, batch := row(queued, 0, 60*sec), row(queued, 1, 60*sec)
	st := state(chat, batch)
	st.HostState = uint8(sluice.HostStatePaused)
	p.Admit(st, chat, batch)
	st.HostState, st.NowNS = uint8(sluice.HostStateRunning), now+sec
	p.Admit(st, chat, batch)
	for after, want := range map[int64]string{5 * sec: "-", 5*sec + 1: "503 priority"} {
		st.NowNS = now + sec + after
		if got := say(p.Admit(st, chat, batch)[1]); got != want {
			t.Errorf("%d ms after the pause batch has %s, not %s", after/ms, got, want)
		}
	}
}

// Batch that is let in does not stand before interactive traffic of the same burst.
func TestBurstOfTwoClasses(t *testing.T) {
	p := sluicetest.New(t, &policy{}, "arrival_factor", "1", "max_age", "10s")
	st := &sluice.State{NowNS: now, WaitingRequests: 1, EstimatedWaitNS: 3 * sec, Valid: sluice.StateHasEstimatedWaitNS}
	st.Classes[0].Waiting = 1
	got := ""
	for _, v := range p.Admit(st, row(arrival, 1, 0), row(arrival, 1, 0), row(arrival, 1, 0), row(arrival, 1, 0),
		row(arrival, 0, 0), row(arrival, 0, 0), row(arrival, 0, 0), row(arrival, 0, 0)) {
		got += say(v)[:1]
	}
	if got != "---5---5" {
		t.Errorf("verdicts are %s", got)
	}
}

func TestSettings(t *testing.T) {
	for key, bad := range map[string]string{
		"max_age": "0", "max_age.1": "later", "max_age.16": "1s", "pressure": "2", "arrival_factor": "-1", "status": "500", "maxage": "1s",
	} {
		if err := sluicetest.Configure(&policy{}, map[string]string{key: bad}); err == nil {
			t.Errorf("%s=%s is taken", key, bad)
		}
	}
}

func TestDoesNotAllocate(t *testing.T) {
	p := sluicetest.New(t, &policy{}, "arrival_factor", "1")
	rows := []sluice.Row{row(queued, 0, 6*sec), row(queued, 1, 6*sec), row(arrival, 1, 0), row(queued, 2, 60*sec)}
	if n := p.Allocs(state(rows...), rows...); n != 0 {
		t.Errorf("%v allocations a call", n)
	}
}

// The module that ships decides what this source decides, in memory that does not grow.
func TestModule(t *testing.T) {
	m := wasmtest.Compile(t, wasmtest.Shipped(t, "queue-age"))
	wasmtest.Same(t, m, func() any { return &policy{} },
		nil, []string{"max_age", "2s", "max_age.1", "30s"}, []string{"arrival_factor", "0.5", "pressure", "0.1", "status", "429"})
	g := m.Start(t)
	if err := g.Configure(nil); err != nil {
		t.Fatal(err)
	}
	wasmtest.Flat(t, g, 100_000)
}
