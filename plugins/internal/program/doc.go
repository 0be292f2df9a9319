// Package program draws random WebAssembly programs, to compare what runs them. They are always valid and always end,
// because each takes a step of its global 0 at every function entry and loop header, and leaves when there are none left.
// They may trap: divisions, accesses and calls are not all guarded. They use every kind of instruction that is metered.
//
// A program exports "run" of type (i32, i64) -> (i64, i32), and the ABI's admit hook, which calls run and leaves its results
// and the globals in memory, so that a policy runtime shows them.
//
//	rapid.Check(t, func(t *rapid.T) { wasm := program.Build(t) })
package program
