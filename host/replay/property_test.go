package replay

import (
	"bytes"
	"context"
	"testing"

	"github.com/sluice-dev/sluice/gpu/sim"
	"github.com/sluice-dev/sluice/host/sched"
	"github.com/sluice-dev/sluice/host/trace"
	"github.com/sluice-dev/sluice/plugins/abi"
	"pgregory.net/rapid"
)

// moody is a policy set whose answers are noise, but the same noise for the same questions in the same order.
func moody(seed uint64) *policy {
	n := func(limit uint64) uint64 {
		seed = mix(seed)
		return seed % limit
	}
	return &policy{
		admit: func(_ *abi.State, _ *abi.Row, out *abi.Verdict) {
			if n(20) == 0 {
				out.Action = uint8(abi.ActionReject)
			} else {
				out.Action, out.MaxTokensCap, out.QueueTTLMs = uint8(abi.ActionAdmit), uint32(n(60)), uint32(n(900))
			}
		},
		rank:      func(*abi.State, *abi.Row) int64 { return int64(n(5)) },
		plan:      func(_ *abi.State, out *abi.BatchPlan) { out.MaxSeqs, out.ChunkTokens = uint32(n(9)), uint32(n(300)) },
		speculate: func(_ *abi.State, out *abi.SpecPlan) { out.K = uint32(n(20)) },
	}
}

func drawRecords(t *rapid.T) []trace.Record {
	var out []trace.Record
	at := int64(0)
	for range rapid.IntRange(1, 40).Draw(t, "requests") {
		at += rapid.SampledFrom([]int64{0, ms, 7 * ms, 300 * ms}).Draw(t, "gap")
		r := request(at, rapid.IntRange(0, 600).Draw(t, "prompt"), rapid.IntRange(0, 40).Draw(t, "output"))
		r.Imported, r.Queue = "", nil
		r.Outcome = rapid.SampledFrom(sched.Outcomes()).Draw(t, "outcome").String()
		r.MaxTokens, r.TTL = rapid.IntRange(0, 60).Draw(t, "max"), rapid.SampledFrom([]int64{0, 0, 20 * ms}).Draw(t, "ttl")
		r.E2E, r.Class = rapid.Int64Range(0, 500*ms).Draw(t, "e2e"), rapid.SampledFrom([]string{"", "batch", "default"}).Draw(t, "class")
		out = append(out, r)
	}
	return out
}

// Whatever the trace and whatever the policies answer: every request has one valid row, the sums agree, and the run
// repeats itself.
func TestEveryRunAddsUpAndRepeats(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := device(rapid.Int64Range(1, 40).Draw(t, "step") * ms)
		p.MaxSeqs, p.KVTokens, p.MaxBatchTokens = rapid.IntRange(1, 6).Draw(t, "seats"), rapid.IntRange(100, 1500).Draw(t, "kv"), 256
		seed := rapid.Uint64().Draw(t, "seed")
		in := Input{Records: drawRecords(t), Sim: p, Seed: seed, Acceptance: rapid.Float64Range(0, 1).Draw(t, "acceptance")}
		in.Sched = DefaultSched(p)
		in.Sched.ChunkTokens = rapid.IntRange(1, 200).Draw(t, "chunk")
		run := func() (*Result, int) {
			rows := 0
			in := in
			in.Policies = moody(seed)
			in.OnEnd = func(r *trace.Record) {
				rows++
				if err := r.Validate(); err != nil {
					t.Fatalf("%v\n%+v", err, r)
				}
			}
			res, err := Run(context.Background(), in)
			if err != nil {
				t.Fatal(err)
			}
			return res, rows
		}
		if onlyEmptyPrompts(in.Records) {
			return
		}
		a, rows := run()
		b, _ := run()
		if a.Decisions != b.Decisions {
			t.Fatal("two runs decided differently")
		}
		all := a.Summaries()[len(bucketNames)]
		sum := 0
		for _, n := range all.Outcomes {
			sum += n
		}
		if rows != len(in.Records)-a.Excluded || all.N != rows || sum != rows || a.Stats.Arrived != uint64(rows) || all.Output != int64(a.Stats.OutputTokens) {
			t.Fatalf("%d rows, %d records, %+v, %+v", rows, len(in.Records), all, a.Stats)
		}
	})
}

func onlyEmptyPrompts(records []trace.Record) bool {
	for i := range records {
		if records[i].PromptTokens > 0 {
			return false
		}
	}
	return true
}

// A burst on a device that cannot hold it, so that policies make a difference.
func burst() []trace.Record {
	var out []trace.Record
	for i := range 300 {
		at := int64(i) * 40 * ms
		if i >= 100 && i < 200 {
			at = 4000*ms + int64(i-100)*4*ms
		} else if i >= 200 {
			at = int64(i-80) * 40 * ms
		}
		r := request(at, 50+int(mix(uint64(i))%900), 5+int(mix(uint64(i)+1000)%60))
		if i%10 == 3 {
			r.Imported, r.Outcome, r.OutputTokens = "", "shed_at_arrival", 0
		}
		out = append(out, r)
	}
	return out
}

func reportOf(t *testing.T, seed uint64) (text, json []byte) {
	t.Helper()
	p, err := sim.ParseProfile(sim.CPUProfile)
	if err != nil {
		t.Fatal(err)
	}
	in := Input{Records: burst(), Sim: p, Seed: seed, Acceptance: 0.4}
	fresh := func() (abi.Decider, func(), error) { return shedOlder(2000 * ms), nil, nil }
	rep, err := NewReport(context.Background(), in, Side{Name: "shed", New: fresh}, Side{Name: "native"}, 100, 80, 120)
	if err != nil {
		t.Fatal(err)
	}
	var b, j bytes.Buffer
	if err := rep.WriteText(&b); err != nil {
		t.Fatal(err)
	}
	if err := rep.WriteJSON(&j); err != nil {
		t.Fatal(err)
	}
	return b.Bytes(), j.Bytes()
}

func TestTheSameSeedGivesTheSameBytes(t *testing.T) {
	text, json := reportOf(t, 7)
	again, jsonAgain := reportOf(t, 7)
	if !bytes.Equal(text, again) || !bytes.Equal(json, jsonAgain) {
		t.Errorf("two reports of one seed differ:\n%s\n%s", text, again)
	}
	other, _ := reportOf(t, 8)
	if bytes.Equal(text, other) {
		t.Error("another seed draws the same lengths")
	}
}
