package conformance

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/sluice-dev/sluice/plugins/abi"
)

const (
	millisecond = int64(1_000_000)
	second      = 1000 * millisecond
)

// step is what the host shows a policy once.
type step struct {
	kind   string
	st     abi.State
	rows   []abi.Row
	events []abi.Event
}

func (s *step) String() string {
	return fmt.Sprintf("%s with %d rows at %d ns", s.kind, len(s.rows), s.st.NowNS)
}

// traffic draws steps. Most of them follow from each other as those of a server do, so that policies that learn, learn
// something; some are at the edges of what a field can hold, and some are mere bytes.
type traffic struct {
	rng               *rand.Rand
	now               int64
	id                uint64
	running, most     int64
	itl, slow         int64 // ns; slow is what a step takes beside its requests
	liked             int64 // ppm of the drafts, about
	drafted, accepted uint64
	paused            int // steps
}

func newTraffic(seed, variant uint64) *traffic {
	rng := rand.New(rand.NewPCG(seed, variant))
	return &traffic{rng: rng, now: rng.Int64N(1 << 40), id: rng.Uint64N(1 << 20), most: 1 + rng.Int64N(64), slow: 30 * millisecond, liked: 500_000}
}

func (t *traffic) next() *step {
	t.move()
	s := &step{kind: "a likely state"}
	n := t.rows()
	t.state(&s.st)
	s.rows = make([]abi.Row, n)
	for i := range s.rows {
		t.row(&s.rows[i], &s.st)
	}
	switch t.rng.IntN(400) { // rarely: a policy that learns forgets what it has learned
	case 0:
		s.kind = "a state at the edges"
		t.extreme("State", abi.Bytes(&s.st), 1+t.rng.IntN(6))
		s.st.Size = abi.StateSize
	case 1:
		s.kind = "mere bytes"
		fill(t.rng, abi.Bytes(&s.st))
		s.st.Size = abi.StateSize
	}
	switch t.rng.IntN(8) {
	case 0:
		s.kind += ", at the edges,"
		for i := range s.rows {
			t.extreme("Row", abi.Bytes(&s.rows[i]), t.rng.IntN(4))
		}
	case 1:
		s.kind += ", of mere bytes,"
		fill(t.rng, abi.SliceBytes(s.rows))
	}
	for i := range s.rows {
		s.events = append(s.events, abi.Event{ID: s.rows[i].ID, AtNS: s.st.NowNS - t.upTo(50*millisecond), Kind: uint8(t.upTo(4)), Class: s.rows[i].Class, Value: t.upTo(500)})
	}
	return s
}

// rows is mostly a handful, and now and then all that a call holds.
func (t *traffic) rows() int64 {
	switch t.rng.IntN(20) {
	case 0:
		return abi.MaxRows
	case 1:
		return 0
	}
	return 1 + t.upTo(24)
}

// move lets a step pass.
func (t *traffic) move() {
	t.now += t.upTo(40 * millisecond)
	t.id++
	switch t.rng.IntN(500) {
	case 0:
		t.now += t.upTo(100 * second)
		t.id += uint64(t.upTo(1000))
	case 1: // another run
		t.now, t.id, t.drafted, t.accepted = t.upTo(second), uint64(t.upTo(100)), 0, 0
	case 2:
		t.paused = int(t.upTo(20))
	case 3, 4, 5:
		t.most = 1 + t.upTo(64)>>t.upTo(5)
	case 6, 7, 8:
		t.liked = t.upTo(1_000_000) >> t.upTo(6)
	case 9, 10:
		t.slow = t.upTo(200 * millisecond)
	}
	t.paused = max(t.paused-1, 0)
	t.running = min(max(t.running+t.upTo(4)-2, 0), t.most)
	t.itl = max(t.slow+t.running*millisecond+t.upTo(8*millisecond), 1000)
	drafts := uint64(t.upTo(40))
	t.drafted += drafts
	t.accepted += drafts * uint64(min(t.liked+t.upTo(100_000), 1_000_000)) / 1_000_000
}

func (t *traffic) state(st *abi.State) {
	*st = abi.State{
		Size: abi.StateSize, PolicyEpoch: 1, StepID: t.id, NowNS: t.now, RngSeed: t.rng.Uint64(), Valid: t.valid(),
		QueueLimit: 1024, Running: uint32(t.running), Decoding: uint32(t.running), MaxNumSeqs: uint32(t.most), MaxBatchedTokens: 2048,
		BlockSize: 16, BlocksTotal: 4096, BlocksFree: uint32(t.upTo(4096)), StepNS: t.itl, ITLP50NS: t.itl - t.itl/8, ITLP95NS: t.itl,
		DecodeStepP50NS: t.itl - t.itl/5 + t.upTo(10*millisecond), MinStepNS: t.itl - t.itl/6,
		EstimatedWaitNS: t.upTo(60 * second), ArrivalsMilliPerS: uint32(t.upTo(100_000)),
		KNow: uint32(t.upTo(abi.MaxDraft)), KMax: uint32(t.upTo(abi.MaxDraft)), Drafted: t.drafted, Accepted: t.accepted,
	}
	if t.paused > 0 {
		st.HostState = uint8(abi.HostStatePaused)
	}
}

// valid draws what is known. Of the times per token and step there is nearly always one: without any a policy forgets.
func (t *traffic) valid() uint64 {
	times := [...]uint64{abi.StateHasDecodeStepP50NS, abi.StateHasMinStepNS, abi.StateHasITLP50NS}
	v := t.rng.Uint64() | t.rng.Uint64()
	if t.id%200 == 0 {
		return v &^ (times[0] | times[1] | times[2])
	}
	return v | times[t.id%3]
}

func (t *traffic) row(r *abi.Row, st *abi.State) {
	wait := min(t.upTo(40*second), t.now)
	*r = abi.Row{
		ID: t.rng.Uint64N(1 << 20), Valid: t.rng.Uint64(), ArrivalNS: t.now - wait, EnqueueNS: t.now - wait, AgeNS: wait, WaitNS: wait - min(t.upTo(second), wait),
		Tenant: t.rng.Uint64N(6) * 0x9e3779b97f4a7c15, Priority: int32(t.upTo(4)) - 2, Class: uint8(t.upTo(3)), Phase: uint8(t.upTo(3)), Stream: uint8(t.upTo(1)),
		SpeculationAllowed: uint8(t.upTo(1)), Attempt: uint32(t.upTo(2)), PromptTokens: uint32(1 + t.upTo(2000)), MaxTokens: uint32(1 + t.upTo(500)),
		GeneratedTokens: uint32(t.upTo(400)), KVHeld: uint32(t.upTo(64)), Preemptions: uint32(t.upTo(5)), TenantWeight: 1 + uint32(t.upTo(3)),
		TenantWaiting: uint32(t.upTo(9)), TenantRunning: uint32(t.upTo(9)), TenantServedOut: t.rng.Uint64N(1 << 30),
		FirstTokenNS: t.now - t.upTo(40*second), TTFTDeadlineNS: t.now + t.upTo(4*second) - second, Score: t.upTo(100) - 50,
	}
	if r.Phase == uint8(abi.PhaseQueued) {
		c := &st.Classes[r.Class%abi.Classes]
		c.Waiting++
		c.OldestWaitNS = max(c.OldestWaitNS, wait)
		st.WaitingRequests++
		st.OldestWaitNS = max(st.OldestWaitNS, wait)
	}
}

// extreme puts the smallest and the largest values into single fields.
func (t *traffic) extreme(layout string, b []byte, fields int) {
	l := abi.Layouts[layout]
	for range fields {
		f := l.Fields[t.rng.IntN(len(l.Fields))]
		x := []uint64{0, 1, math.MaxUint64, math.MaxInt64, 1 << 63, 0x7fffffff, 0x80000000, 1 << 46, 1_000_000}[t.rng.IntN(9)]
		at := f.Offset + f.Size/f.Count*t.rng.IntN(f.Count)
		for i := range min(f.Size/f.Count, 8) {
			b[at+i] = byte(x >> (8 * i))
		}
	}
}

func fill(rng *rand.Rand, b []byte) {
	for i := range b {
		b[i] = byte(rng.Uint64())
	}
}

// upTo draws from 0 to most.
func (t *traffic) upTo(most int64) int64 { return t.rng.Int64N(most + 1) }
