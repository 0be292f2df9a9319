// Package wasmtime runs policies on wasmtime: a plugins.Runtime like package wazero, which shows that nothing of a decision
// depends on the runtime. The same metered module burns the same fuel in both, stops at the same place, traps for the same
// cause, and meets the same functions of the host. It knows nothing of what policies decide.
//
// It is no part of an ordinary build. The build tag wasmtime adds it, which needs cgo and a C compiler, on Linux or macOS on
// amd64 or arm64; the library itself comes prebuilt with the module github.com/bytecodealliance/wasmtime-go, none of whose
// Go code runs here. Compiling a policy takes some five times as long as in wazero, and large windows are decided a little
// faster; a call's crossing costs some 50 ns more, and no allocation.
//
// meter's bounds on what a module takes to compile were measured in wazero. Where every instruction can trap, as in a long
// row of divisions, wasmtime takes up to twenty times the estimate: the largest module that is let in keeps a core busy for
// minutes. A function whose native code is too large for it is refused.
//
//	rt, err := wasmtime.New(wasmtime.Options{CacheDir: dir})
//	defer rt.Close()
//	host := plugins.New(rt, plugins.Options{})
//
// # Crossing
//
// Go copies the input into guest memory, which C has shown it and which never moves, and crosses once: set the counter, call,
// read the counter. What a guest asks of the host crosses back; most decisions ask nothing. wasmtime's objects are C's, and
// Close frees them: there is no finalizer.
//
// # Why it is the same everywhere
//
//   - Features are WebAssembly 2.0, what meter accepts and wazero has. Threads, tail calls, relaxed SIMD and what else the
//     library offers are switched off.
//   - The bits of a NaN would differ between the runtimes, which random programs showed, and between processors. meter makes
//     every NaN the canonical one, for both, so the runtime's own way to do that, which wazero lacks, stays off.
//   - A guest has a stack of its own, of 64 MiB that cost nothing until they are touched, with a page below it that nothing may
//     touch. Recursion therefore ends by fuel: a frame takes some 16 bytes for a unit, and a decision has some 4 million units.
//     With a budget of more the stack may end first, as it may in wazero: a trap too, and not an end by fuel. A thread's own
//     stack would depend on its limits, and on Go. Go code, when a guest calls the host, runs on the thread's stack.
//   - Memory is reserved at once and bounded by the module's maximum, which meter sets.
//
// # Signals
//
// wasmtime can find out by signals that a guest read outside its memory. It would then handle SIGSEGV and others before Go,
// on stacks that it gives to Go's threads. Here the native code checks by itself (signals_based_traps is off), so that the
// process's handlers stay Go's and a fault of anybody else is still Go's to report; a test holds that.
package wasmtime
