// Package meter makes a WebAssembly module count what it executes, and stop. Rewrite takes an untrusted core module and
// returns one that keeps a hidden counter of fuel: charged while the guest runs, trapping below zero. The same module with
// the same input stops at the same instruction on every machine and in every runtime, which wall time can not promise.
//
// It is no runtime, and no type checker: it runs nothing, and that the operands of the instructions have the right types
// is for the runtime to say. What it checks itself is all that the counter's safety rests on: the encoding, the nesting of
// blocks, and every index, against the ORIGINAL counts. A module that names the counter's future index is refused.
//
//	m, err := meter.Rewrite(wasm, meter.DefaultLimits()) // first: its decoder bounds what a runtime's own does not
//	_, err = runtime.CompileModule(ctx, wasm)            // the original must be valid by itself
//	mod, err := runtime.Instantiate(ctx, m.Code)         // a start function has Limits.StartFuel
//	fuel := mod.ExportedGlobal(meter.FuelExport).(api.MutableGlobal)
//	fuel.Set(api.EncodeI64(100_000)) // before every call: the counter is not refilled by itself
//	_, err = mod.ExportedFunction("hook").Call(ctx)
//	if err != nil && int64(fuel.Get()) < 0 {
//		// Out of fuel, and not another trap. The instance is in an unknown state now: throw it away.
//	}
//
// # Charges
//
// Before it is executed, in units of fuel:
//
//	function entry            units of all its instructions + its parameters, results and locals, at least 64
//	loop header, every pass   units of the loop's instructions, without those of loops inside it
//	memory.fill, copy, init   length in bytes / 8, rounded down
//	memory.grow               1024 for each page asked for, granted or not
//	table.fill, copy, init    1 for each element
//	table.grow                1 for each element asked for, granted or not
//
// An instruction is any opcode in the body (blocks, ends and dead code too) and has one unit; one that moves more than one
// value between blocks or functions (a call's results, a branch's, a block's) has as many units as values.
//
// So no more instructions are executed than units are spent, a loop's pass costs at least one unit, and a call at least 64.
// A runtime's frame takes some 16 bytes for a unit of its function's entry, so that recursion ends by fuel before it ends
// by stack while budgets are below some 4 million units. With a larger one the runtime's own limit may come first: a trap as
// well, but not the same in every runtime. What a host function costs is not seen here: the host bounds it.
//
// A loop's pass is charged in full even where it branches past most of the body. Go's compiler puts every function that
// jumps backwards into one loop around the whole body, so that units overstate a Go guest's work: scoring 256 requests in a
// plain loop spends some 70,000 units in 2 us, sorting them 5 to 9 million in 50 to 100 us. Budgets must allow for that.
//
// # Floats
//
// The bits of a NaN that an operator makes are the machine's choice, and a guest can look at them. Code after every operator
// that can make one, and whose result is not hidden at once by the next, turns it into the canonical NaN (quiet, positive,
// without a payload), in each lane of a vector. So a guest computes the same on every machine and in every runtime. This is
// not charged.
//
// # Why the guest can not refuel
//
// The counter is a global appended after the original ones, exported under a name that the module may not export itself,
// and charged by code that the guest can not branch into. A charge is at most 1<<42 units and is followed by its check, so
// the counter can not wrap. Encodings that two decoders might read differently (padded opcodes, reserved bytes, a SIMD
// opcode with a second meaning) are refused, so that what was checked is what will run.
package meter
