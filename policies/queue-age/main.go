// Queue-age sheds what has waited too long, so that a server in overload spends its time on requests whose clients are
// still there.
//
// It decides admission, of what waits and of what arrives:
//
//   - A waiting request older than its class's max_age is rejected: 503, reason queue_age. The host computes the Retry-After
//     from the rate at which the queue drains.
//   - While a more important class is under pressure (its oldest request has used up the share `pressure` of its own
//     max_age), the classes below it are shed at that share of theirs already, with the reason priority: batch gives way
//     before interactive is late.
//   - With arrival_factor, a request is rejected on arrival when the time that it would wait is more than so many times its
//     max_age. Only requests of its own class and of more important ones count as ahead of it.
//
// It never judges a request that runs or has run, and says nothing about the rest. Time in which the host was paused does
// not count as waiting.
//
// Settings:
//
//	max_age         10s   longest wait, 1ms to 24h
//	max_age.<class>       the same for one class, 0 to 15
//	pressure        0.5   share of max_age, 0 to 1; 1 turns the second rule off
//	arrival_factor  0     0 to 1000; 0 turns the third rule off, 2 suits bursts
//	status          503   HTTP status of all rejections: 503, 429 or 529
//
//	sluice policy push queue-age.wasm --set max_age=2s
package main

import sluice "github.com/sluice-dev/sluice/sdk/go"

type policy struct {
	maxAge        [sluice.Classes]int64 // ns
	pressedAge    [sluice.Classes]int64 // ns; the same under pressure
	arrivalFactor int64                 // ppm
	status        uint16

	paused    bool
	resumedAt int64 // ns; waits count from here on
}

// Reads declares what the policy looks at beside what is always there.
func (p *policy) Reads() sluice.Group { return sluice.GroupSpeed | sluice.GroupClasses }

// Configure implements sluice.Configurer.
func (p *policy) Configure(c *sluice.Config) error {
	p.maxAge = c.ClassDurations("max_age", 10*sluice.Second, sluice.Millisecond, 24*sluice.Hour)
	pressure := c.Ratio("pressure", sluice.One/2, 0, sluice.One)
	for i, age := range p.maxAge {
		p.pressedAge[i] = share(age, pressure)
	}
	p.arrivalFactor = c.Ratio("arrival_factor", 0, 0, 1000*sluice.One)
	switch c.OneOf("status", "503", "429", "529") {
	case "503":
		p.status = 503
	case "429":
		p.status = 429
	case "529":
		p.status = 529
	}
	return nil
}

// Admit implements sluice.Admitter.
func (p *policy) Admit(st *sluice.State, rows []sluice.Row, out []sluice.Verdict) {
	p.follow(st)
	if !p.paused {
		p.judgeQueued(st, rows, out)
	}
	if p.arrivalFactor > 0 && st.Has(sluice.StateHasEstimatedWaitNS) && st.WaitingRequests > 0 {
		p.judgeArrivals(st, rows, out)
	}
}

// follow notices pauses.
func (p *policy) follow(st *sluice.State) {
	paused := st.HostState == uint8(sluice.HostStatePaused)
	if p.paused && !paused {
		p.resumedAt = st.NowNS
	}
	p.paused = paused
}

func (p *policy) judgeQueued(st *sluice.State, rows []sluice.Row, out []sluice.Verdict) {
	counted := st.NowNS - p.resumedAt
	limit := p.limits(st, counted)
	for i := range rows {
		r := &rows[i]
		if r.In(sluice.PhaseQueued) && min(r.WaitNS, counted) > limit[r.ClassIndex()] {
			out[i] = p.late(r, counted)
		}
	}
}

// limits are the ages in force: below the first class under pressure they are shorter. Of a wait only counted ns count.
func (p *policy) limits(st *sluice.State, counted int64) [sluice.Classes]int64 {
	limit := p.maxAge
	pressed := false
	for c := range limit {
		if pressed {
			limit[c] = p.pressedAge[c]
		}
		oldest := min(st.Classes[c].OldestWaitNS, counted)
		pressed = pressed || st.Classes[c].Waiting > 0 && oldest > p.pressedAge[c]
	}
	return limit
}

func (p *policy) late(r *sluice.Row, counted int64) sluice.Verdict {
	if min(r.WaitNS, counted) > p.maxAge[r.ClassIndex()] {
		return sluice.Reject(p.status, sluice.ReasonQueueAge)
	}
	return sluice.Reject(p.status, sluice.ReasonPriority)
}

func (p *policy) judgeArrivals(st *sluice.State, rows []sluice.Row, out []sluice.Verdict) {
	var room places
	for c := range room {
		room[c] = share(p.maxAge[c], p.arrivalFactor)
	}
	room.count(st)
	for i := range rows {
		if r := &rows[i]; r.In(sluice.PhaseArrival) && !room.take(r.ClassIndex()) {
			out[i] = sluice.Reject(p.status, sluice.ReasonQueueAge)
		}
	}
}

var (
	_ sluice.FieldReader = (*policy)(nil)
	_ sluice.Configurer  = (*policy)(nil)
	_ sluice.Admitter    = (*policy)(nil)
)

func init() { sluice.Register(&policy{}) }

func main() {}
