package sched_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/sluice-dev/sluice/gpu"
	"github.com/sluice-dev/sluice/host/sched"
	"github.com/sluice-dev/sluice/plugins/abi"
)

// A million steps of random traffic under policies that mean no good, with cancels, deadlines, pauses, swaps and failed steps in
// between. After every action all invariants hold, and every request ends once. SLUICE_SEED repeats a run, SLUICE_STEPS sets its
// length.
func TestInvariantsHoldForAMillionStepsWhateverThePoliciesAnswer(t *testing.T) {
	seed, steps := uint64(time.Now().UnixNano()), uint64(1_000_000)
	if testing.Short() || raceEnabled {
		steps = 50_000
	}
	for name, v := range map[string]*uint64{"SLUICE_SEED": &seed, "SLUICE_STEPS": &steps} {
		if text := os.Getenv(name); text != "" {
			n, err := strconv.ParseUint(text, 10, 64)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			*v = n
		}
	}
	fmt.Printf("SLUICE_SEED=%d\n", seed) // also where the run ends in a panic, or never
	total := newSoakTotals()
	for episode := uint64(0); total.steps < steps; episode++ {
		if err := soak(rand.New(rand.NewPCG(seed, episode)), total); err != nil {
			t.Fatalf("SLUICE_SEED=%d, episode %d: %v", seed, episode, err)
		}
	}
	t.Logf("SLUICE_SEED=%d: %+v", seed, *total)
	if steps >= 50_000 {
		total.checkCoverage(t)
	}
}

// soakTotals is what all episodes did, so that a soak that meets nothing is noticed.
type soakTotals struct {
	steps, failed, swaps    uint64
	pauses, drains          uint64
	ended                   map[sched.Outcome]uint64
	forced, aged, rejecting uint64
	hits, saves, reloaded   uint64
	late, hopeless          uint64 // expired, with and without a Retry-After
	notices                 map[sched.NoticeKind]uint64
}

func newSoakTotals() *soakTotals {
	return &soakTotals{ended: map[sched.Outcome]uint64{}, notices: map[sched.NoticeKind]uint64{}}
}

func (s *soakTotals) checkCoverage(t *testing.T) {
	for _, o := range sched.Outcomes() {
		if s.ended[o] == 0 {
			t.Errorf("no request ended as %v", o)
		}
	}
	if s.failed == 0 || s.pauses == 0 || s.drains == 0 || s.swaps == 0 || s.forced == 0 || s.aged == 0 || s.rejecting == 0 || s.hits == 0 || s.saves == 0 || s.reloaded == 0 ||
		s.late == 0 || s.hopeless == 0 {
		t.Errorf("the traffic did not meet everything: %+v", *s)
	}
}

// life is one request of the soak.
type life struct {
	req    *sched.Request
	length int    // after which the model says that it is done
	asked  uint64 // the policies' ids in force while it lived, a bit each; bit 0 is the native default
}

// run is one episode.
type run struct {
	rng    *rand.Rand
	core   *sched.Core
	cfg    sched.Config
	dev    *holder
	now    int64
	policy *hostile // nil = native defaults
	live   map[uint64]*life
	ids    []uint64
	next   uint64
	flying *sched.Batch
	state  abi.HostState
	stuck  int64 // since when there is work and no step; 0 = not so
	single int64 // ns that a step with one row was believed to take before the last action
	total  *soakTotals
}

// stepsInEpisode bounds an episode, each of which has its own limits and device.
const stepsInEpisode = 1500

func soak(rng *rand.Rand, total *soakTotals) error {
	x := &run{rng: rng, now: 1, live: map[uint64]*life{}, total: total}
	x.cfg = x.drawConfig()
	core, err := sched.New(x.cfg, nil)
	if err != nil {
		return err
	}
	x.core, x.dev = core, newHolder(x.cfg.MaxSeqs+x.cfg.SpareSeqs)
	for x.core.Stats().Steps < stepsInEpisode {
		if err := x.act(); err != nil {
			return err
		}
	}
	if err := x.settle(); err != nil {
		return err
	}
	x.count()
	return nil
}

func (x *run) between(lo, hi int) int { return lo + x.rng.IntN(hi-lo+1) }
func (x *run) oneIn(n int) bool       { return x.rng.IntN(n) == 0 }

func (x *run) drawConfig() sched.Config {
	c := sched.DefaultConfig(x.between(1, 5), 1, 64, 64)
	c.BlockSize = x.between(1, 16)
	c.Blocks = max(1, x.between(40, 160)/c.BlockSize)
	c.MaxBatchTokens = c.MaxSeqs + x.between(0, 40)
	c.ChunkTokens, c.MaxDraft, c.MaxWaiting = x.between(1, 64), x.between(0, 15), x.between(1, 16)
	c.MaxPreemptions, c.MaxBypass = x.between(0, 8), x.between(0, 16)
	c.Seed = x.rng.Uint64()
	for i := range c.AgeAfter {
		c.AgeAfter[i] = int64(x.between(0, 2)) * 100e6
	}
	c.RejectingAfter = 1e9
	if x.oneIn(2) {
		c.SpareSeqs, c.CopyMin, c.SharedKV = x.between(0, 4), x.between(0, 2*c.BlockSize), x.oneIn(2)
		c.MaxSaved = x.between(0, 100)
		c.Costs = gpu.Costs{PrefillToken: 100e3, SaveToken: int64(x.between(0, 2)) * 30e3, Copy: 50e3, HeldToken: int64(x.between(0, 1)) * 10e3}
	}
	return c
}

// act does one thing and looks at everything.
func (x *run) act() (err error) {
	x.now += x.rng.Int64N(12e6)
	switch x.rng.IntN(16) {
	case 0, 1, 2:
		x.arrive()
	case 3:
		x.cancel()
	case 4:
		x.core.Tick(x.now)
	case 5:
		x.disturb()
	default:
		if x.flying == nil {
			err = x.plan()
		} else {
			err = x.complete()
		}
	}
	if err != nil {
		return err
	}
	return x.check()
}

// disturb changes what does not change often.
func (x *run) disturb() {
	switch {
	case x.flying == nil && x.oneIn(3):
		x.swap()
	case x.state != abi.HostStateRunning || x.oneIn(12):
		x.enter([...]abi.HostState{abi.HostStateRunning, abi.HostStateRunning, abi.HostStatePaused, abi.HostStateDraining}[x.rng.IntN(4)])
	case x.oneIn(8): // nothing happens for long
		x.now += x.rng.Int64N(3e9)
	}
}

func (x *run) swap() {
	x.total.swaps++
	kind := hostility(x.rng.IntN(int(hostilities) + 1))
	if kind == hostilities {
		x.policy = nil
		x.core.SetPolicies(nil, 0)
		return
	}
	x.policy = &hostile{kind: kind, id: abi.PolicyID(kind + 1), hooks: allHooks, rng: x.rng, heard: map[abi.EventKind]int{}}
	if x.oneIn(4) {
		x.policy.hooks = abi.Hook(x.rng.Uint32()) & allHooks
	}
	x.core.SetPolicies(x.policy, uint32(kind))
	for _, l := range x.live {
		l.asked |= x.inForce()
	}
}

// inForce is the bits of those who may decide now.
func (x *run) inForce() uint64 {
	if x.policy == nil {
		return 1
	}
	return 1 | 1<<x.policy.id
}

func (x *run) enter(state abi.HostState) {
	switch {
	case state == abi.HostStatePaused && x.state != state:
		x.total.pauses++
	case state == abi.HostStateDraining && x.state != state:
		x.total.drains++
	}
	x.state, x.stuck = state, 0
	x.core.SetHostState(x.now, state)
}

func (x *run) arrive() {
	reqs := make([]*sched.Request, x.between(1, 3))
	for i := range reqs {
		x.next++
		r := &sched.Request{ID: x.next, Arrival: max(1, x.now-x.rng.Int64N(1e6)), PromptTokens: x.between(1, 40), MaxTokens: x.between(1, 25),
			PromptBytes: x.between(0, 1000), Class: uint8(x.rng.IntN(3)), Priority: int32(x.between(-1, 1)), Tenant: uint64(x.rng.IntN(3)), NoSpec: x.oneIn(8)}
		if x.oneIn(4) {
			r.TTL = x.rng.Int64N(200e6)
		}
		if x.oneIn(4) {
			r.Deadline = x.now + x.rng.Int64N(500e6)
		}
		if x.oneIn(16) {
			r.PromptTokens, r.MaxTokens = x.between(1, 90), x.between(1, 1<<30)
		}
		group, shared := x.rng.Uint64N(4), x.rng.IntN(40)
		for b := 1; b*x.cfg.BlockSize <= r.PromptTokens; b++ {
			h := group<<32 | uint64(b)
			if b*x.cfg.BlockSize > shared {
				h = r.ID<<48 | group<<32 | uint64(b)
			}
			r.Hashes = append(r.Hashes, h)
		}
		reqs[i] = r
		x.live[r.ID] = &life{r, x.between(1, 30), x.inForce()}
		x.ids = append(x.ids, r.ID)
	}
	x.core.Arrive(x.now, reqs...)
}

func (x *run) cancel() {
	if len(x.ids) > 0 {
		recent := x.ids[max(0, len(x.ids)-12):]
		as := [...]sched.Outcome{sched.OutcomeCancelledRunning, sched.OutcomeCancelledRunning, sched.OutcomeDrained}[x.rng.IntN(3)]
		x.core.Cancel(x.now, recent[x.rng.IntN(len(recent))], as)
	}
}

// plan starts a step, or sees to it that there is a reason for none (I4, I5).
func (x *run) plan() error {
	decoding := x.decoding()
	enough := x.cfg.Blocks-x.core.BlocksUsed() >= len(decoding) // each needs one more at most
	x.flying = x.core.Plan(x.now)
	if x.flying == nil {
		return x.mayIdle()
	}
	x.stuck = 0
	if x.state == abi.HostStatePaused {
		return fmt.Errorf("a step starts while the host is paused")
	}
	if err := x.dev.forward(x.flying, &x.cfg); err != nil {
		return err
	}
	for i := range x.flying.Rows {
		delete(decoding, x.flying.Rows[i].Req.ID)
	}
	for id, preemptions := range decoding {
		if l := x.live[id]; l.req.Outcome == sched.OutcomeNone && l.req.Preemptions == preemptions && enough {
			return fmt.Errorf("request %d decodes, and has no row in a step of %d (I4)", id, len(x.flying.Rows))
		}
	}
	return nil
}

// decoding is who has its prompt behind it and waits only for its next token.
func (x *run) decoding() map[uint64]int {
	ids := map[uint64]int{}
	for id, l := range x.live {
		if r := l.req; r.Outcome == sched.OutcomeNone && r.Generated > 0 && r.Computed == r.PromptTokens+r.Generated-1 {
			ids[id] = r.Preemptions
		}
	}
	return ids
}

// mayIdle says whether it is right that no step starts.
func (x *run) mayIdle() error {
	switch {
	case x.core.Idle() || x.state == abi.HostStatePaused:
		x.stuck = 0
	case x.policy == nil:
		return fmt.Errorf("nothing runs though %d wait and %d could go on (I4)", x.core.Waiting(), x.core.Running())
	case x.stuck == 0:
		x.stuck = x.now
	case x.now-x.stuck > x.cfg.StallAfter:
		return fmt.Errorf("nothing has run for %v under policy %d though %d wait and %d could go on (I5)", time.Duration(x.now-x.stuck), x.policy.kind, x.core.Waiting(), x.core.Running())
	}
	return nil
}

func (x *run) complete() error {
	res := make([]sched.Result, len(x.flying.Rows))
	fail := x.oneIn(100)
	if fail {
		x.total.failed++
	}
	for i := range res {
		row := &x.flying.Rows[i]
		if fail || x.oneIn(500) {
			res[i].Done = sched.OutcomeFailed
			continue
		}
		if row.Sample {
			res[i] = x.sample(row)
		}
		x.dev.done(row, res[i])
	}
	x.flying = nil
	x.core.Complete(x.now, res)
	return nil
}

// sample is what the model says to one row.
func (x *run) sample(row *sched.Row) (res sched.Result) {
	r := row.Req
	left := max(1, x.live[r.ID].length-r.Generated)
	res.Drafted = x.rng.IntN(row.Draft + 1)
	res.Available, res.HitLength = x.rng.IntN(20), x.rng.IntN(5)
	res.Emitted = 1 + x.rng.IntN(res.Drafted+1)
	if res.Emitted >= left {
		res.Emitted, res.Done = left, sched.OutcomeCompleted
	}
	known := r.PromptTokens + r.Generated
	for b := known/x.cfg.BlockSize + 1; b*x.cfg.BlockSize <= known+res.Emitted; b++ {
		res.Hashes = append(res.Hashes, r.ID<<48|1<<40|uint64(b))
	}
	return res
}

// check looks at the invariants, and at what ended.
func (x *run) check() error {
	if err := x.core.Check(); err != nil {
		return err
	}
	for _, n := range x.core.TakeNotices() {
		x.total.notices[n.Kind]++
	}
	for _, r := range x.core.TakeEnded() {
		l := x.live[r.ID]
		if l == nil {
			return fmt.Errorf("request %d ended twice, or never arrived (I1)", r.ID)
		}
		if err := x.checkEnded(l); err != nil {
			return fmt.Errorf("request %d, %v after %d of %d tokens: %w", r.ID, r.Outcome, r.Generated, r.MaxTokens, err)
		}
		delete(x.live, r.ID)
		x.total.ended[r.Outcome]++
	}
	x.single = x.core.SingleStep()
	return nil
}

func (x *run) checkEnded(l *life) error {
	r := l.req
	refused := r.Outcome == sched.OutcomeShedAtArrival || r.Outcome == sched.OutcomeShedFromQueue || r.Outcome == sched.OutcomeExpired || r.Outcome == sched.OutcomePreemptFailed
	switch {
	case r.Generated > r.MaxTokens || r.Emissions > r.Generated || r.Outcome == sched.OutcomeLength && r.Generated == 0:
		return fmt.Errorf("%d emissions", r.Emissions)
	case refused != (r.Verdict.Status != 0):
		return fmt.Errorf("the verdict is %+v (I8)", r.Verdict)
	case !x.mayRetryAfter(r, refused):
		return fmt.Errorf("Retry-After is %d ns after %d emissions; it arrived at %d, came in at %d, and had until %d or %d ns in the queue; a step takes %d ns",
			r.Verdict.RetryAfter, r.Emissions, r.Arrival, r.Enqueued, r.Deadline, r.TTL, x.single)
	case r.Scheduled == 0 && r.Generated > 0 || r.Outcome == sched.OutcomeShedFromQueue && r.Scheduled != 0:
		return fmt.Errorf("it was scheduled at %d", r.Scheduled)
	case r.Outcome == sched.OutcomeExpired && r.Scheduled != 0 && (r.Deadline == 0 || r.Deadline > r.Ended):
		return fmt.Errorf("it ran, and its deadline was %d at %d", r.Deadline, r.Ended)
	}
	for hook, by := range map[string]abi.PolicyID{"admit": r.AdmitBy, "prioritize": r.PriorityBy, "batch": r.BatchBy, "speculate": r.SpecBy} {
		if l.asked&(1<<max(by, -by)) == 0 {
			return fmt.Errorf("policy %d decided at %s and was not in force (I8)", by, hook)
		}
	}
	byPolicy := r.Outcome == sched.OutcomeShedFromQueue || r.Outcome == sched.OutcomeShedAtArrival && r.Verdict.Limit == ""
	if byPolicy && r.AdmitBy <= 0 {
		return fmt.Errorf("nobody rejected it: %+v by %d (I8)", r.Verdict, r.AdmitBy)
	}
	return nil
}

// mayRetryAfter tells whether it is right that a verdict has a Retry-After, or none. What was refused has one unless it can never fit, the
// server goes away, or it had less time than it takes alone.
func (x *run) mayRetryAfter(r *sched.Request, refused bool) bool {
	v := &r.Verdict
	has := v.RetryAfter > 0
	if has && (v.RetryAfter%1e9 != 0 || v.RetryAfter > 30e9) {
		return false
	}
	if r.Outcome != sched.OutcomeExpired {
		return has == (refused && v.Status != 400 && v.Limit != "draining")
	}
	if has {
		x.total.late++
	} else {
		x.total.hopeless++
	}
	if v.Reason == abi.ReasonTTL {
		return has
	}
	each := 1
	if !r.NoSpec {
		each += x.cfg.MaxDraft
	}
	own, steps := r.Deadline-r.Arrival, int64(r.Generated/each+1)*x.single
	switch {
	case own <= steps:
		return !has
	case own > steps+int64(r.PromptTokens)*x.cfg.Costs.PrefillToken:
		return has
	}
	return true // it depends on how much of its prompt is cached
}

// settle runs without further arrivals until nothing is left: whatever the policies say, everything ends (I5).
func (x *run) settle() error {
	x.enter(abi.HostStateRunning)
	for i := 0; !x.core.Idle(); i++ {
		if i > 20_000 {
			return fmt.Errorf("no end after %d steps: %d wait, %d run (I5)", i, x.core.Waiting(), x.core.Running())
		}
		x.now += 30e6
		x.core.Tick(x.now)
		step := x.plan
		if x.flying != nil {
			step = x.complete
		}
		if err := step(); err != nil {
			return err
		}
		if err := x.check(); err != nil {
			return err
		}
	}
	if len(x.live) != 0 {
		return fmt.Errorf("%d requests never ended (I1)", len(x.live))
	}
	return nil
}

func (x *run) count() {
	s := x.core.Stats()
	x.total.steps += s.Steps
	x.total.forced += s.Forced
	x.total.aged += s.Aged
	x.total.rejecting += s.Rejecting
	x.total.hits += s.PrefixHits
	x.total.saves += s.Saves
	x.total.reloaded += s.ReloadedTokens
}
