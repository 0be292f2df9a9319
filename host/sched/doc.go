// Package sched is the scheduler: queue, batch, KV blocks, preemption, and the four questions it puts to the policies.
// It is a state machine. Whoever drives it hands in events and the time; the live engine and the replay drive the same code.
//
// It is not concurrent: one goroutine owns a Core. It does no I/O, reads no clock, and never sees text or token values.
//
//	c := sched.New(cfg, policies)
//	c.Arrive(now, req)                    // judged at once: queued or ended
//	for b := c.Plan(now); b != nil; b = c.Plan(now) {
//		results := run(b)                 // one device step
//		c.Complete(later, results)
//		for _, r := range c.TakeEnded() { ... }
//	}
package sched
