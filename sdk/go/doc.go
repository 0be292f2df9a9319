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
// and tested natively with the package sluicetest.
//
// # What a policy may do
//
//   - It is called by one goroutine, and must not start others: none of them would run.
//   - A hook must not allocate. Go's garbage collector needs some 11 million units of fuel for a cycle, where a hook has half
//     a million and 10,000 a row: the host would stop the policy in the middle of a collection, answer for it, and begin with
//     a fresh instance. Nor can a hook give the collector its turn bit by bit: runtime.Gosched alone costs 130,000 units a
//     call, and without it a guest that allocates grows to its memory's limit. Fields of the policy's own, fixed arrays and
//     what the SDK hands over need no allocation; Configure may allocate. sluicetest tells (Policy.Allocs).
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
