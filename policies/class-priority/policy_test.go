package main

import (
	"math"
	"slices"
	"strings"
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

	queued  = sluice.PhaseQueued
	running = sluice.PhaseRunning
)

// request is a row: its name is for the tables, and age is since arrival, in ns.
type request struct {
	name     string
	phase    sluice.Phase
	class    uint8
	priority int32
	age      int64
	waited   int64  // until the first token; 0 = there was none yet
	lost     uint32 // preemptions so far
}

func rank(t testing.TB, p *sluicetest.Policy, all []request) []sluice.Ranking {
	t.Helper()
	rows := make([]sluice.Row, len(all))
	for i, r := range all {
		rows[i] = sluice.Row{
			ID: uint64(i), Phase: uint8(r.phase), Class: r.class, Priority: r.priority,
			ArrivalNS: now - r.age, AgeNS: r.age, Preemptions: r.lost,
		}
		if r.waited > 0 {
			rows[i].FirstTokenNS, rows[i].Valid = rows[i].ArrivalNS+r.waited, sluice.RowHasFirstTokenNS
		}
	}
	out, decided := p.Prioritize(&sluice.State{}, rows...)
	if !decided {
		t.Fatal("it abstains")
	}
	return out
}

// order is the names of those that wait, the first first.
func order(all []request, out []sluice.Ranking) string {
	var wait []int
	for i, r := range all {
		if r.phase == queued {
			wait = append(wait, i)
		}
	}
	slices.SortStableFunc(wait, func(a, b int) int {
		switch {
		case out[a].Score < out[b].Score:
			return -1
		case out[a].Score > out[b].Score:
			return 1
		}
		return 0
	})
	var names []string
	for _, i := range wait {
		names = append(names, all[i].name)
	}
	return strings.Join(names, " ")
}

// victim is who loses its place, by the rules of the ABI: "a for b" or "".
func victim(all []request, out []sluice.Ranking) string {
	for i := range all {
		if all[i].phase != queued || sluice.RankFlag(out[i].Flags)&sluice.RankFlagMayPreempt == 0 {
			continue
		}
		worst := -1
		for j := range all {
			if all[j].phase != running || out[j].Score <= out[i].Score || sluice.RankFlag(out[j].Flags)&sluice.RankFlagPinned != 0 {
				continue
			}
			if worst < 0 || out[j].VictimRank > out[worst].VictimRank {
				worst = j
			}
		}
		if worst >= 0 {
			return all[worst].name + " for " + all[i].name
		}
	}
	return ""
}

func TestOrder(t *testing.T) {
	for _, c := range []struct {
		name     string
		settings []string
		all      []request
		want     string
	}{
		{"class before arrival", nil, []request{{name: "batch", class: 1, age: 2 * sec}, {name: "chat", age: sec}}, "chat batch"},
		{"arrival inside a class", nil, []request{{name: "later", age: sec}, {name: "earlier", age: 2 * sec}}, "earlier later"},
		{"priority inside a class", nil, []request{{name: "plain", age: 4 * sec}, {name: "urgent", priority: -1, age: sec}}, "urgent plain"},
		{"no priority beats a class", nil, []request{{name: "batch", class: 1, priority: math.MinInt32}, {name: "chat", priority: math.MaxInt32}}, "chat batch"},
		{"a large priority is still one of its class", nil, []request{{name: "batch", class: 1}, {name: "chat", priority: 1 << 20}}, "chat batch"},
		{"beyond 16 bits they are equal", nil, []request{{name: "x", priority: -50_000}, {name: "y", priority: -40_000, age: sec}, {name: "z", priority: 50_000}}, "y x z"},
		{"five seconds are worth a class", nil, []request{{name: "chat", age: sec}, {name: "batch", class: 1, age: 5 * sec}}, "batch chat"},
		{"less is not", nil, []request{{name: "chat", age: sec}, {name: "batch", class: 1, age: 5*sec - 1}}, "chat batch"},
		{"another step", []string{"age_step", "1s"}, []request{{name: "chat"}, {name: "batch", class: 3, age: 4 * sec}}, "batch chat"},
		{"and they outdo priority", nil, []request{{name: "urgent", priority: -100}, {name: "plain", age: 5 * sec}}, "plain urgent"},
		{"classes in order", nil, []request{{name: "d", class: 15}, {name: "c", class: 2}, {name: "b", class: 1}, {name: "a"}}, "a b c d"},
		{"equal ones as they stand", nil, []request{{name: "first", age: sec}, {name: "second", age: sec}}, "first second"},
	} {
		for i := range c.all {
			c.all[i].phase = queued
		}
		out := rank(t, sluicetest.New(t, &policy{}, c.settings...), c.all)
		if got := order(c.all, out); got != c.want {
			t.Errorf("%s: %s, not %s", c.name, got, c.want)
		}
	}
}

func TestPreemption(t *testing.T) {
	chat := request{name: "chat", phase: queued}
	batch := func(name string, class uint8, age int64) request {
		return request{name: name, phase: running, class: class, age: age}
	}
	for _, c := range []struct {
		name     string
		settings []string
		all      []request
		want     string
	}{
		{"a worse class gives way", nil, []request{chat, batch("b", 1, sec)}, "b for chat"},
		{"the worst class first", nil, []request{chat, batch("b", 1, 2*sec), batch("c", 2, 3*sec)}, "c for chat"},
		{"in it the latest arrival", nil, []request{chat, batch("old", 1, 2*sec), batch("new", 1, sec)}, "new for chat"},
		{"equals never", nil, []request{{name: "x", phase: queued, class: 1, age: 9 * sec}, batch("b", 1, sec)}, ""},
		{"not by priority", nil, []request{{name: "x", phase: queued, class: 1, priority: -9}, batch("b", 1, sec)}, ""},
		{"aged batch does not push out chat", nil, []request{{name: "x", phase: queued, class: 1, age: 60 * sec}, batch("chat", 0, 0)}, ""},
		{"nor a worse class that runs beside it", nil,
			[]request{{name: "x", phase: queued, class: 1, age: 60 * sec}, batch("chat", 0, 0), batch("c", 2, 0)}, "c for x"},
		{"what waited for the same level stays", nil, []request{chat, {name: "b", phase: running, class: 1, age: 9 * sec, waited: 5 * sec}}, ""},
		{"running does not age", nil, []request{chat, {name: "b", phase: running, class: 1, age: 99 * sec, waited: 5*sec - 1}}, "b for chat"},
		{"before its first token it waits", nil, []request{chat, batch("b", 1, 5*sec)}, ""},
		{"aged batch in front is no obstacle", nil,
			[]request{{name: "aged", phase: queued, class: 2, age: 20 * sec}, {name: "x", phase: queued, class: 1}, batch("b", 2, 0)}, "b for x"},
		{"nor what has aged beside the victim", nil,
			[]request{{name: "aged", phase: queued, class: 2, age: 20 * sec}, {name: "x", phase: queued, class: 1}, {name: "b", phase: running, class: 2, age: 10 * sec, waited: 1},
				{name: "equal", phase: running, class: 2, age: 6 * sec, waited: 5 * sec}}, "b for x"},
		{"only the best claimant preempts", nil, []request{{name: "x", phase: queued, class: 1, age: 0}, chat, batch("c", 2, 0)}, "c for chat"},
		{"preempted often enough", nil, []request{chat, {name: "b", phase: running, class: 1, lost: 4}}, ""},
		{"once more is allowed", []string{"preempt_limit", "5"}, []request{chat, {name: "b", phase: running, class: 1, lost: 4}}, "b for chat"},
		{"then it is another's turn", nil, []request{chat, {name: "c", phase: running, class: 2, lost: 4}, batch("b", 1, sec)}, "b for chat"},
		{"one that was preempted waits for a free place", nil, []request{{name: "p", phase: sluice.PhasePreempted}, batch("b", 1, sec)}, ""},
		{"switched off", []string{"preempt", "false"}, []request{chat, batch("b", 1, 0)}, ""},
		{"nobody waits", nil, []request{batch("b", 1, 0)}, ""},
	} {
		out := rank(t, sluicetest.New(t, &policy{}, c.settings...), c.all)
		if got := victim(c.all, out); got != c.want {
			t.Errorf("%s: %q, not %q", c.name, got, c.want)
		}
		for i := range out {
			if c.want == "" && sluice.RankFlag(out[i].Flags)&sluice.RankFlagMayPreempt != 0 {
				t.Errorf("%s: %s has no victim and may preempt", c.name, c.all[i].name)
			}
		}
	}
}

func drawRequest(phases ...sluice.Phase) *rapid.Generator[request] {
	return rapid.Custom(func(t *rapid.T) request {
		return request{
			phase: rapid.SampledFrom(phases).Draw(t, "phase"), class: rapid.Uint8Range(0, 4).Draw(t, "class"),
			priority: rapid.Int32Range(-3, 3).Draw(t, "priority"), age: rapid.Int64Range(0, 40*sec).Draw(t, "age"),
			lost: rapid.Uint32Range(0, 5).Draw(t, "preemptions"), waited: rapid.Int64Range(0, 20*sec).Draw(t, "waited"),
		}
	})
}

// Nobody starves: what arrives more than class + 1 steps later stands behind, whatever its class and priority.
func TestWaitingIsBounded(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		step := rapid.Int64Range(1, 10).Draw(rt, "step") * sec
		p := sluicetest.New(t, &policy{}, "age_step", itoa(step/sec)+"s")
		old, young := drawRequest(queued).Draw(rt, "old"), drawRequest(queued).Draw(rt, "young")
		old.age = young.age + int64(old.class+1)*step
		out := rank(t, p, []request{old, young})
		if out[0].Score >= out[1].Score {
			rt.Fatalf("%+v stands behind %+v", old, young)
		}
	})
}

// Whoever may take a place goes first, and there is only one.
func TestClaimantGoesFirst(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		all := rapid.SliceOfN(drawRequest(queued, running), 1, 40).Draw(rt, "requests")
		out := rank(t, sluicetest.New(t, &policy{}), all)
		claimant := -1
		for i := range all {
			if sluice.RankFlag(out[i].Flags)&sluice.RankFlagMayPreempt != 0 {
				if claimant >= 0 || all[i].phase != queued {
					rt.Fatalf("%+v may preempt", all[i])
				}
				claimant = i
			}
		}
		victims := false
		for i, w := range all {
			if claimant >= 0 && w.phase == queued && (out[i].Score < out[claimant].Score || out[i].Score == out[claimant].Score && i < claimant) {
				rt.Fatalf("%+v stands before %+v", w, all[claimant])
			}
			for _, r := range all {
				victims = victims || w.phase == queued && r.phase == running && r.class > w.class && level(r) > level(w) && r.lost < 4
			}
		}
		if victims != (claimant >= 0) {
			rt.Fatalf("somebody has a victim: %v, and %d may preempt", victims, claimant)
		}
	})
}

// Who waits takes a place only from a less important class that is worse off after ageing as well.
func TestPreemptionIsStrict(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		all := rapid.SliceOfN(drawRequest(queued, running), 1, 40).Draw(rt, "requests")
		out := rank(t, sluicetest.New(t, &policy{}), all)
		for i, w := range all {
			if w.phase != queued || sluice.RankFlag(out[i].Flags)&sluice.RankFlagMayPreempt == 0 {
				continue
			}
			for j, r := range all {
				worse := r.class > w.class && level(r) > level(w)
				if r.phase == running && out[j].Score > out[i].Score && !worse {
					rt.Fatalf("%+v may push out %+v", w, r)
				}
			}
		}
	})
}

func level(r request) int64 {
	waited := r.age
	if r.phase == running && r.waited > 0 {
		waited = min(r.age, r.waited)
	}
	return int64(r.class) - waited/(5*sec)
}

// After a preemption the places are not changed back: the one that lost its place may not take it from the one that got it.
func TestNoPingPong(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		all := []request{drawRequest(queued).Draw(rt, "waits"), drawRequest(running).Draw(rt, "runs")}
		all[0].name, all[1].name = "w", "r"
		p := sluicetest.New(t, &policy{}, "preempt_limit", "100")
		if victim(all, rank(t, p, all)) == "" {
			return
		}
		later := rapid.Int64Range(0, 60*sec).Draw(rt, "later")
		all[0].phase, all[1].phase = running, queued
		all[0].age, all[1].age = all[0].age+later, all[1].age+later
		if got := victim(all, rank(t, p, all)); got != "" {
			rt.Fatalf("then %s after %d ms", got, later/ms)
		}
	})
}

func itoa(x int64) string {
	if x < 10 {
		return string(rune('0' + x))
	}
	return itoa(x/10) + itoa(x%10)
}

func TestSettings(t *testing.T) {
	for key, bad := range map[string]string{"age_step": "0", "preempt": "2", "preempt_limit": "-1", "step": "5s"} {
		if err := sluicetest.Configure(&policy{}, map[string]string{key: bad}); err == nil {
			t.Errorf("%s=%s is taken", key, bad)
		}
	}
}

func TestDoesNotAllocate(t *testing.T) {
	p := sluicetest.New(t, &policy{})
	rows := []sluice.Row{{Phase: uint8(queued)}, {Phase: uint8(running), Class: 1}, {Phase: uint8(queued), Class: 2, AgeNS: 9 * sec}}
	if n := p.Allocs(&sluice.State{}, rows...); n != 0 {
		t.Errorf("%v allocations a call", n)
	}
}

// The module that ships decides what this source decides, in memory that does not grow.
func TestModule(t *testing.T) {
	m := wasmtest.Compile(t, wasmtest.Shipped(t, "class-priority"))
	wasmtest.Same(t, m, func() any { return &policy{} },
		nil, []string{"age_step", "100ms"}, []string{"age_step", "24h", "preempt", "no"}, []string{"preempt_limit", "0"})
	g := m.Start(t)
	if err := g.Configure(nil); err != nil {
		t.Fatal(err)
	}
	wasmtest.Flat(t, g, 100_000)
}
