package sluice_test

import (
	"bytes"
	"math"
	"math/rand/v2"
	"testing"

	sluice "github.com/sluice-dev/sluice/sdk/go"
)

const helpersHead = `# What the helpers of every SDK answer, to the integer. Written by go test ./sdk/go -run Vectors -update.
#
# A line is a helper's name, its parameters, the number of steps, and the steps; all of it decimal integers of 64 bits with
# a sign, separated by single spaces. Each line begins with a fresh helper. In a step, what stands before the colon is the
# input and what follows it the expected answer:
#
#   ewma shift            x : value                       Add(x), then Value
#   hysteresis above below hold
#                         at value : on                   Update
#   window width buckets  now op x : sum rate             op 1 = Add(now, x), 0 = nothing, 2 = Reset; then Sum(now), Rate(now)
#   token_bucket rate burst
#                         now op n : ok wait level        op 0 = Take(now, n); 1 = Give(now, n), 2 = Reset: ok 1, wait 0; then Level(now)
#   pid kp ki kd shift low high
#                         op x : setting                  op 0 = Update(x); 1 = Reset(x), then Update(0)
#   tenant_table size     op id x : found served inflight weight place len weights
#                                                         op 0 = Find(id); 1 = Get(id), add x to served; 2 = Get(id), add x to
#                                                         inflight; 3 = Get(id), weight = x; then what Find(id) shows (zeros
#                                                         when it finds none), the place at which At has it (-1 for none),
#                                                         Len, Weights
#   fair_share            total weight weights : share    FairShare
`

// Whoever changes what a helper answers changes it in all SDKs.
func TestVectorsHelpers(t *testing.T) {
	var b bytes.Buffer
	b.WriteString(helpersHead)
	rng := rand.New(rand.NewPCG(1, 2))
	for _, c := range []struct {
		times int
		draw  func(*rand.Rand) vector
	}{
		{12, ewmaVector}, {20, hysteresisVector}, {40, windowVector}, {40, bucketVector}, {40, pidVector}, {12, tenantVector}, {4, shareVector},
	} {
		for range c.times {
			v := c.draw(rng)
			v.write(&b)
		}
	}
	checkVectors(t, "helpers.txt", b.Bytes())
}

// some draws a value of any size: most of the faults are at the edges.
func some(rng *rand.Rand) int64 {
	edges := []int64{0, 1, -1, math.MaxInt64, math.MinInt64, 1 << 46, 1<<46 + 1, -1 << 46, 1 << 31, 1 << 40, 1 << 62}
	switch rng.IntN(8) {
	case 0:
		return edges[rng.IntN(len(edges))]
	case 1:
		return int64(rng.Uint64())
	default:
		return int64(rng.Uint64()) >> (20 + rng.IntN(44))
	}
}

// clock draws times that mostly go on, in ns.
func clock(rng *rand.Rand, step int64) func() int64 {
	now := int64(rng.Uint64N(1 << 40))
	return func() int64 {
		switch rng.IntN(40) {
		case 0:
			return some(rng)
		case 1:
			now -= rng.Int64N(step*20 + 1)
		case 2:
			now += rng.Int64N(step*200 + 1)
		default:
			now += rng.Int64N(step + 1)
		}
		return now
	}
}

func ewmaVector(rng *rand.Rand) vector {
	v := vector{name: "ewma", params: []int64{int64(rng.IntN(20))}}
	e := sluice.EWMA{Shift: uint8(v.params[0])}
	for range 24 {
		x := some(rng)
		e.Add(x)
		value, _ := e.Value()
		v.step(x, value)
	}
	return v
}

func hysteresisVector(rng *rand.Rand) vector {
	above := rng.Int64N(6)
	v := vector{name: "hysteresis", params: []int64{above, above - rng.Int64N(3), rng.Int64N(12)}}
	h := sluice.Hysteresis{Above: above, Below: v.params[1], Hold: v.params[2]}
	at := int64(0)
	for range 40 {
		if at += rng.Int64N(4); rng.IntN(30) == 0 {
			at = rng.Int64N(20)
		}
		value := above - 3 + rng.Int64N(5)
		v.step(at, value, bit(h.Update(at, value)))
	}
	return v
}

func windowVector(rng *rand.Rand) vector {
	widths := []int64{sluice.Second, 100 * sluice.Millisecond, 1, 0, 12_345, 200 * sluice.Second}
	v := vector{name: "window", params: []int64{widths[rng.IntN(len(widths))], int64(rng.IntN(70))}}
	w := sluice.Window{Width: v.params[0], Buckets: uint8(v.params[1])}
	next := clock(rng, max(v.params[0], 1)*int64(1+rng.IntN(3)))
	for range 30 {
		now, op, x := next(), int64(rng.IntN(5)), rng.Int64N(100)
		switch {
		case op > 2:
			op = 1
		case op == 2 && rng.IntN(4) > 0:
			op = 1
		}
		if rng.IntN(6) == 0 {
			x = some(rng)
		}
		switch op {
		case 1:
			w.Add(now, x)
		case 2:
			w.Reset()
		}
		v.step(now, op, x, w.Sum(now), w.Rate(now))
	}
	return v
}

func bucketVector(rng *rand.Rand) vector {
	rates := []int64{1000, 2500, 0, -1, 1, 7, 50_000_000, math.MaxInt64, rng.Int64N(1 << 34)}
	bursts := []int64{1, 10, 0, 1 << 20, math.MaxInt64, rng.Int64N(1000)}
	v := vector{name: "token_bucket", params: []int64{rates[rng.IntN(len(rates))], bursts[rng.IntN(len(bursts))]}}
	b := sluice.TokenBucket{Rate: v.params[0], Burst: v.params[1]}
	next := clock(rng, []int64{10, sluice.Millisecond, sluice.Second, sluice.Hour}[rng.IntN(4)])
	for range 30 {
		now, op, n := next(), max(0, int64(rng.IntN(12))-9), rng.Int64N(max(min(v.params[1], 1<<40), 1)+2)
		if rng.IntN(8) == 0 {
			n = some(rng)
		}
		ok, wait := true, int64(0)
		switch op {
		case 0:
			ok, wait = b.Take(now, n)
		case 1:
			b.Give(now, n)
		case 2:
			b.Reset()
		}
		v.step(now, op, n, bit(ok), wait, b.Level(now))
	}
	return v
}

func pidVector(rng *rand.Rand) vector {
	gain := func() int64 { return rng.Int64N(41) - 20 }
	v := vector{name: "pid", params: []int64{gain(), gain(), gain(), rng.Int64N(8), rng.Int64N(100) - 50, rng.Int64N(300) - 50}}
	if rng.IntN(3) == 0 {
		v.params = []int64{some(rng), some(rng), some(rng), rng.Int64N(40), some(rng), some(rng)}
	}
	p := v.params
	c := sluice.PID{KP: p[0], KI: p[1], KD: p[2], Shift: uint8(p[3]), Low: p[4], High: p[5]}
	for range 30 {
		op, x := int64(0), rng.Int64N(200)-100
		if rng.IntN(5) == 0 {
			x = some(rng)
		}
		if rng.IntN(15) == 0 {
			op = 1
			c.Reset(x)
			v.step(op, x, c.Update(0))
			continue
		}
		v.step(op, x, c.Update(x))
	}
	return v
}

func tenantVector(rng *rand.Rand) vector {
	sizes := []int64{1, 2, 3, 8, 40, 0, 300}
	v := vector{name: "tenant_table", params: []int64{sizes[rng.IntN(len(sizes))]}}
	table := new(sluice.TenantTable)
	table.Size = uint16(v.params[0])
	hashed := rng.IntN(2) == 0
	steps := 60
	if v.params[0] == 0 || v.params[0] > 100 {
		steps = 700
	}
	for range steps {
		id := rng.Int64N(min(v.params[0]*2+2, 300))
		if steps > 100 {
			id = rng.Int64N(400)
		}
		if hashed {
			id = int64(uint64(id) * 0x9e3779b97f4a7c15 >> 1)
		}
		op, x := int64(rng.IntN(4)), rng.Int64N(9)-2
		tenantStep(&v, table, op, id, x)
	}
	return v
}

func tenantStep(v *vector, table *sluice.TenantTable, op, id, x int64) {
	switch op {
	case 1:
		table.Get(uint64(id)).Served += x
	case 2:
		table.Get(uint64(id)).Inflight += x
	case 3:
		table.Get(uint64(id)).Weight = x
	}
	found, place, seen := int64(0), int64(-1), sluice.Tenant{}
	if at := table.Find(uint64(id)); at != nil {
		found, seen = 1, *at
	}
	for i := range table.Len() {
		if table.At(i).ID == uint64(id) {
			place = int64(i)
		}
	}
	v.step(op, id, x, found, seen.Served, seen.Inflight, seen.Weight, place, int64(table.Len()), table.Weights())
}

func shareVector(rng *rand.Rand) vector {
	v := vector{name: "fair_share"}
	for range 20 {
		total, weight, weights := rng.Int64N(1000), rng.Int64N(20), rng.Int64N(200)
		if rng.IntN(3) == 0 {
			total, weight, weights = some(rng), some(rng), some(rng)
		}
		v.step(total, weight, weights, sluice.FairShare(total, weight, weights))
	}
	return v
}
