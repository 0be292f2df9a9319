package sluice_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	sluice "github.com/sluice-dev/sluice/sdk/go"
)

// The table holds the tenants seen last, with what was written on them, in whatever order they come.
func TestTenantTableKeepsTheLatest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.SampledFrom([]int{1, 2, 7, 64, 256}).Draw(t, "size")
		table := &sluice.TenantTable{Size: uint16(size)}
		type seen struct{ id, served uint64 }
		var latest []seen // the newest last
		hash := rapid.SampledFrom([]uint64{1, 0x9e3779b97f4a7c15, 1 << 56}).Draw(t, "hash")
		ids := rapid.Uint64Range(0, uint64(size*2))
		for range rapid.IntRange(1, 300).Draw(t, "gets") {
			id := ids.Draw(t, "id") * hash
			now := seen{id: id}
			if i := slices.IndexFunc(latest, func(s seen) bool { return s.id == id }); i >= 0 {
				now = latest[i]
				latest = slices.Delete(latest, i, i+1)
			}
			at := table.Get(id)
			if at.ID != id || at.Served != int64(now.served) || at.Weight != 1 {
				t.Fatalf("tenant %d is %+v, and %d were served", id, *at, now.served)
			}
			at.Served++
			now.served++
			latest = append(latest, now)
			latest = latest[max(len(latest)-size, 0):]
		}
		if table.Len() != len(latest) {
			t.Fatalf("%d tenants instead of %d", table.Len(), len(latest))
		}
		for _, s := range latest {
			if at := table.Find(s.id); at == nil || at.Served != int64(s.served) {
				t.Fatalf("tenant %d is %+v, and %d were served", s.id, at, s.served)
			}
		}
		for i := range table.Len() {
			if !slices.ContainsFunc(latest, func(s seen) bool { return s.id == table.At(i).ID }) {
				t.Fatalf("place %d has tenant %d, which is too old", i, table.At(i).ID)
			}
		}
	})
}

// Shares follow the weights, add up to no more than there is, and are never nothing.
func TestFairShare(t *testing.T) {
	table := new(sluice.TenantTable)
	for id, weight := range []int64{1, 2, 5, 0} {
		at := table.Get(uint64(id))
		at.Weight, at.Inflight = weight, 1
	}
	table.Get(9).Weight = 100 // nothing in flight
	if w := table.Weights(); w != 9 {
		t.Fatalf("the weights are %d", w)
	}
	for weight, want := range map[int64]int64{1: 10, 2: 20, 5: 50, 0: 10, 1000: 90} {
		if got := sluice.FairShare(90, weight, table.Weights()); got != want {
			t.Errorf("a weight of %d gets %d of 90, not %d", weight, got, want)
		}
	}
	if got := sluice.FairShare(3, 1, 9); got != 1 {
		t.Errorf("of too little a tenant gets %d", got)
	}
	rapid.Check(t, func(t *rapid.T) {
		total, weights := rapid.Int64Range(0, 1<<40).Draw(t, "total"), rapid.SliceOfN(rapid.Int64Range(1, 1<<20), 1, 50).Draw(t, "weights")
		sum, shares, most := int64(0), int64(0), int64(len(weights))
		for _, w := range weights {
			sum += w
		}
		for _, w := range weights {
			shares += sluice.FairShare(total, w, sum)
		}
		if shares > max(total, most)+most {
			t.Fatalf("shares of %d add up to %d", total, shares)
		}
	})
}

// None of the helpers allocates once it is there.
func TestHelpersAllocateNothing(t *testing.T) {
	w, b := sluice.Window{Width: 10, Buckets: 64}, sluice.TokenBucket{Rate: 1, Burst: 1}
	c, table := sluice.PID{KP: 1, High: 9}, new(sluice.TenantTable)
	now := int64(0)
	if n := testing.AllocsPerRun(1000, func() {
		now += 7
		w.Add(now, 1)
		b.Take(now, w.Rate(now))
		table.Get(uint64(now)).Served += c.Update(now)
	}); n != 0 {
		t.Errorf("%v allocations a round", n)
	}
}
