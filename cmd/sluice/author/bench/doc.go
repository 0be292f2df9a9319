// Package bench measures what a policy's hooks cost, beside what the server does by itself at the same place.
//
// It measures calls, not traffic: what a policy is good for, a replay tells. Times are of this machine and of no other; fuel
// is the same everywhere.
//
//	figures, err := bench.Run(ctx, box, "mine", wasm, config, bench.Options{})
//
// A call of more rows than one call sees is made as the scheduler makes it: in windows of abi.MaxRows. ns is the median of
// many batches of calls.
package bench
