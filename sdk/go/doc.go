// Package sluice is the Go SDK for Sluice policies: the code that decides, inside the server's decode loop, who is let in,
// who goes first, how large the batch may get, and when to speculate.
//
// It is not a client for a running server, and has nothing of the host in it: it only uses the standard library.
//
// A policy is one value that implements some of the interfaces below. The host asks it what it implements and uses its
// own default for the rest:
//
//	type policy struct{ maxWait int64 }
//
//	func (p *policy) Configure(c *sluice.Config) error {
//		p.maxWait = c.Duration("max_wait", 10*sluice.Second, sluice.Millisecond, sluice.Hour)
//		return nil
//	}
//
//	func (p *policy) Admit(st *sluice.State, rows []sluice.Row, out []sluice.Verdict) {
//		for i := range rows {
//			if rows[i].In(sluice.PhaseQueued) && rows[i].WaitNS > p.maxWait {
//				out[i] = sluice.Reject(503, sluice.ReasonQueueAge)
//			}
//		}
//	}
//
//	func init() { sluice.Register(&policy{}) }
//	func main() {}
//
// It is built with the ordinary Go toolchain:
//
//	GOOS=wasip1 GOARCH=wasm go build -buildmode=c-shared -ldflags='-s -w' -o policy.wasm .
//
// and tested natively with the package sluicetest. What policies often need is here, in integers and in a fixed amount of
// memory: EWMA, Window, Hysteresis, TokenBucket, PID, TenantTable, FairShare.
//
// # What a policy may do
//
//   - It is called by one goroutine, and must not start others: none of them would run.
//   - A hook must not allocate. An allocation takes some 19,000 units of fuel, and a cycle of Go's garbage collector 12 to 28
//     million, where a hook has 1.5 million and 10,000 a row: the host would stop the policy in the middle of a
//     collection, answer for it, and begin with a fresh instance. A policy that is given 30 million a call by its server lives
//     on, in memory that does not grow, and makes the loop wait for half a millisecond now and then. Fields of the policy's
//     own, fixed arrays and what the SDK hands over need no allocation; Configure may allocate. sluicetest tells
//     (Policy.Allocs).
//   - Fuel is charged by the length of a function at every branch in it, since Go's compiler makes each function one loop.
//     Keep what happens for every row in short functions: `sluice policy ls --json` shows what a hook uses.
//   - The State, the rows, the events and the outputs are the SDK's memory and valid until the hook returns.
//   - Integers only, in the units of docs/abi.md: nanoseconds, parts per million, tokens, KV blocks. Floating point works,
//     but a decision that rests on it is hard to explain.
//   - The same calls with the same bytes must give the same decisions, so that a replay repeats a live run. There is no clock
//     but State.NowNS, and State.RngSeed is the source of randomness.
//
// # What the module imports
//
// Two functions of the host's, each only if it is used: sluice.log and sluice.metric. Of WASI preview 1 Go's runtime needs
// sched_yield, proc_exit, args_get, args_sizes_get, environ_get, environ_sizes_get, clock_time_get, random_get, poll_oneoff
// and fd_write. A policy that imports time, os or fmt pulls in fd_fdstat_get, fd_fdstat_set_flags, fd_prestat_get,
// fd_prestat_dir_name and more, and is some hundred KB larger; the host serves those as well.
package sluice
