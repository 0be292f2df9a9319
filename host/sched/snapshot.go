package sched

import (
	"math"

	"github.com/sluice-dev/sluice/gpu"
	"github.com/sluice-dev/sluice/plugins/abi"
)

// State returns the snapshot that a policy would see now. Waiting requests are not judged by it.
func (c *Core) State(now int64) *abi.State {
	c.snapshot(now, abi.All)
	return &c.state
}

// snapshot brings c.state up to now, but for the groups that nobody reads: they keep what they were, marked invalid. What
// the scheduler cannot know stays invalid rather than 0.
func (c *Core) snapshot(now int64, reads abi.Group) {
	c.win.advance(now, c.queueMoves())
	s := &c.state
	s.Size, s.PolicyEpoch, s.StepID, s.NowNS, s.HostState = abi.StateSize, c.epoch, c.stats.Steps+1, now, uint8(c.host)
	s.RngSeed = mix(c.cfg.Seed ^ s.StepID)
	s.Valid = 0
	c.snapshotQueue(now)
	c.snapshotBatch()
	if reads&abi.GroupSpeed != 0 {
		c.snapshotSpeed(now)
	}
	if reads&abi.GroupFlow != 0 {
		c.snapshotFlow()
	}
	if reads&abi.GroupSpeculation != 0 {
		c.snapshotDrafts()
	}
	if reads&abi.GroupClasses != 0 {
		c.snapshotClasses(now)
	}
	if reads&abi.GroupSLO != 0 {
		s.SLO = c.cfg.SLO
	}
	if reads&abi.GroupStepCost != 0 {
		c.snapshotCosts()
	}
}

func (c *Core) snapshotQueue(now int64) {
	s := &c.state
	s.WaitingRequests, s.PreemptedWaiting = uint32(c.Waiting()), uint32(len(c.resuming))
	s.WaitingTokens, s.WaitingBytes, s.QueueLimit = uint64(c.waitingTokens-c.inCache), uint64(c.waitingBytes), uint32(c.cfg.MaxWaiting)
	s.OldestWaitNS, s.WaitingDeferred = c.oldest(now), uint32(min(c.deferred, c.Waiting()))
}

func (c *Core) snapshotClasses(now int64) {
	s := &c.state
	s.Classes = [abi.Classes]abi.ClassStats{}
	for i := range c.lines {
		l, k := &c.lines[i], &s.Classes[i]
		k.Waiting, k.WaitingTokens = uint32(l.n), uint64(l.tokens)
		if l.first != nil {
			k.OldestWaitNS = c.waited(now, l.first)
		}
	}
	for i := range s.Classes {
		s.Classes[i].Running = uint32(c.inClass[i])
		s.Classes[i].Admitted1s, s.Classes[i].Shed1s = c.win.lastSecond(i)
	}
}

func (c *Core) snapshotBatch() {
	s := &c.state
	s.Running, s.Prefilling, s.BlocksReserved = uint32(len(c.running)), 0, 0
	for _, r := range c.running {
		if r.Computed < r.PromptTokens {
			s.Prefilling++
		}
		s.BlocksReserved += uint32(max(0, c.blocksFor(r.peak())-r.core.blocks))
	}
	s.Decoding = s.Running - s.Prefilling
	s.MaxNumSeqs, s.MaxBatchedTokens = uint32(c.cfg.MaxSeqs), uint32(c.cfg.MaxBatchTokens)
	s.BlockSize, s.BlocksTotal, s.BlocksFree = uint32(c.cfg.BlockSize), uint32(c.cfg.Blocks), uint32(c.kv.available())
	s.BlocksCached = uint32(c.kv.cached)
	s.KNow, s.KMax = uint32(c.lastKNow), uint32(c.cfg.MaxDraft)
}

func (c *Core) snapshotSpeed(now int64) {
	s, w := &c.state, &c.win
	set := func(bit uint64, dst *int64, v int64) { *dst, s.Valid = v, s.Valid|bit }
	if w.step.recent(now) {
		set(abi.StateHasStepNS, &s.StepNS, w.step.mean())
		set(abi.StateHasMinStepNS, &s.MinStepNS, w.step.at(0))
	}
	if w.decodeStep.recent(now) {
		set(abi.StateHasDecodeStepP50NS, &s.DecodeStepP50NS, w.decodeStep.at(50))
		set(abi.StateHasDecodeStepP99NS, &s.DecodeStepP99NS, w.decodeStep.at(99))
	}
	if w.mixedStep.recent(now) {
		set(abi.StateHasMixedStepNS, &s.MixedStepNS, w.mixedStep.mean())
	}
	if w.queueDelay.recent(now) {
		set(abi.StateHasQueueDelayMinNS, &s.QueueDelayMinNS, w.queueDelay.at(0))
		set(abi.StateHasQueueDelayNS, &s.QueueDelayNS, w.queueDelay.mean())
	}
	if w.ttft.recent(now) {
		set(abi.StateHasTTFTP95NS, &s.TTFTP95NS, w.ttft.at(95))
	}
	if w.itl.recent(now) {
		set(abi.StateHasITLP50NS, &s.ITLP50NS, w.itl.at(50))
		set(abi.StateHasITLP95NS, &s.ITLP95NS, w.itl.at(95))
	}
	if wait, ok := c.estimatedWait(); ok {
		set(abi.StateHasEstimatedWaitNS, &s.EstimatedWaitNS, wait)
	}
	t, span := w.total(), w.span()
	if t.queried > 0 {
		s.PrefixHitPPM, s.Valid = ppm(uint64(t.found), uint64(t.queried)), s.Valid|abi.StateHasPrefixHitPPM
	}
	if t.prefilled > 0 {
		s.PrefillTokensPerS, s.Valid = uint32(t.prefilled*1e9/span), s.Valid|abi.StateHasPrefillTokensPerS
	}
	if t.emitted > 0 {
		s.DecodeTokensPerS, s.Valid = uint32(t.emitted*1e9/span), s.Valid|abi.StateHasDecodeTokensPerS
	}
}

func (c *Core) snapshotFlow() {
	s, t, span := &c.state, c.win.total(), c.win.span()
	s.ArrivalsMilliPerS = uint32(t.arrived * 1e12 / span)
	s.CompletionsMilliPerS = uint32(t.completed * 1e12 / span)
	s.Requests, s.Accepts, s.Preemptions = c.stats.Arrived, c.stats.Admitted, c.stats.Preemptions
	s.RecomputedTokens = c.stats.RecomputedTokens
	s.Cancels = c.stats.Ended[OutcomeCancelledInQueue] + c.stats.Ended[OutcomeCancelledRunning]
}

func (c *Core) snapshotDrafts() {
	s := &c.state
	s.Drafted, s.Accepted = c.stats.Drafted, c.stats.Accepted
	if ns := c.cfg.Costs.DraftToken; ns > 0 {
		s.DraftNSPerToken, s.Valid = ns, s.Valid|abi.StateHasDraftNSPerToken
	}
	if c.stats.DraftedAt[0] > 0 {
		s.Valid |= abi.StateHasAcceptPPMByPosition
		for i := range s.AcceptPPMByPosition {
			s.AcceptPPMByPosition[i] = ppm(c.stats.AcceptedAt[i], c.stats.DraftedAt[i])
		}
	}
}

// snapshotCosts shows step times as they are believed now: what was measured before the first step, corrected by those since.
func (c *Core) snapshotCosts() {
	s := &c.state
	const columns = len(gpu.Costs{}.Step[0])
	for i := range s.StepCostNS {
		ns := c.goodput.CellNS(i/columns, i%columns)
		if s.StepCostNS[i] = ns; ns > 0 {
			s.Valid |= abi.StateHasStepCostNS
		}
	}
}

func (c *Core) fillRow(row *abi.Row, r *Request, now int64, phase abi.Phase) {
	*row = abi.Row{
		ID: r.ID, ArrivalNS: r.Arrival, EnqueueNS: r.Enqueued, AgeNS: now - r.Arrival, Tenant: r.Tenant,
		Priority: r.Priority, Class: r.Class, Phase: uint8(phase), Stream: bit(r.Stream), SpeculationAllowed: bit(!r.NoSpec),
		Attempt: u32(r.Attempt), PromptTokens: u32(r.PromptTokens), ComputedTokens: uint32(r.Computed),
		GeneratedTokens: uint32(r.Generated), MaxTokens: u32(r.MaxTokens),
	}
	if r.core.place == placeWaiting {
		row.WaitNS = c.waited(now, r)
	}
	if row.CachedTokens = uint32(r.Cached); r.Scheduled == 0 {
		row.CachedTokens = uint32(c.reusable(r, c.hit(r)) * c.cfg.BlockSize)
	}
	if c.reads&abi.GroupRowKV != 0 {
		row.KVHeld, row.KVNeedPeak = uint32(r.core.blocks), uint32(c.blocksFor(r.peak()))
		row.KVNeedNext = uint32(c.needNext(r))
		row.Preemptions, row.TokensLost = uint32(r.Preemptions), uint32(r.TokensLost)
	}
	if c.reads&abi.GroupRowTenant != 0 {
		t := c.tenants.get(r.Tenant)
		row.TenantWaiting, row.TenantRunning, row.TenantWeight = uint32(t.waiting), uint32(t.running), 1
		row.TenantServedIn, row.TenantServedOut = t.servedIn, t.servedOut
	}
	if o := &c.win.outputs[r.Class]; c.reads&abi.GroupRowEstimates != 0 && o.recent(now) {
		row.ExpectedOutputP50, row.ExpectedOutputP90 = uint32(o.at(50)), uint32(o.at(90))
		row.Valid |= abi.RowHasExpectedOutputP50 | abi.RowHasExpectedOutputP90
	}
	if c.reads&abi.GroupRowSpeculation != 0 {
		c.fillDrafts(row, r)
	}
	if c.reads&abi.GroupRowTimes == 0 {
		return
	}
	optional(row, &row.TTFTDeadlineNS, abi.RowHasTTFTDeadlineNS, r.TTFTDeadline)
	optional(row, &row.E2EDeadlineNS, abi.RowHasE2EDeadlineNS, r.Deadline)
	optional(row, &row.ClientTTLNS, abi.RowHasClientTTLNS, r.TTL)
	optional(row, &row.TPOTTargetNS, abi.RowHasTPOTTargetNS, c.cfg.SLO[r.Class].TPOTNS)
	optional(row, &row.FirstTokenNS, abi.RowHasFirstTokenNS, r.FirstToken)
	optional(row, &row.LastTokenNS, abi.RowHasLastTokenNS, r.LastToken)
	optional(row, &row.MaxGapNS, abi.RowHasMaxGapNS, r.MaxGap)
}

func (c *Core) fillDrafts(row *abi.Row, r *Request) {
	if r.Drafted > 0 {
		row.AcceptPPM, row.Valid = ppm(uint64(r.Accepted), uint64(r.Drafted)), row.Valid|abi.RowHasAcceptPPM
	}
	if r.core.ngram > 0 {
		row.NgramHitLength, row.Valid = u32(r.core.ngram), row.Valid|abi.RowHasNgramHitLength
	}
}

// needNext is how many KV blocks r takes in its next step. To enter it takes those of all its known tokens, but what it finds.
func (c *Core) needNext(r *Request) int {
	if r.core.place == placeRunning {
		return max(0, c.blocksFor(min(r.known(), r.Computed+c.cfg.ChunkTokens))-r.core.blocks)
	}
	return c.entryBlocks(r) - c.reusable(r, r.core.hit)
}

// optional sets a field whose absence is 0 in Request.
func optional(row *abi.Row, dst *int64, has uint64, v int64) {
	if v != 0 {
		*dst, row.Valid = v, row.Valid|has
	}
}

// u32 is the nearest value that fits: what a client claims may be anything.
func u32(v int) uint32 { return uint32(min(max(v, 0), math.MaxUint32)) }

func bit(b bool) uint8 {
	if b {
		return 1
	}
	return 0
}

func ppm(part, whole uint64) uint32 {
	if whole == 0 {
		return 0
	}
	return uint32(part * 1_000_000 / whole)
}

// mix is the finaliser of the SplitMix64 generator (Steele, Lea, Flood 2014).
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
