package meter

import (
	"math"
	"testing"
)

const plenty = math.MaxInt64

// memoryOp is an instruction with three i32 operands, the last of which is its length.
func memoryOp(n int32, op ...any) []byte {
	return cat(i32c(0), i32c(0), i32c(n), opPrefixMisc, cat(op...))
}

var countdown = cat( // local 0 from 5 to 0: 6 instructions a pass
	i32c(5), 0x21, 0,
	opLoop, blockEmpty, opLocalGet, 0, i32c(1), 0x6b, opLocalTee, 0, 0x0d, 0, opEnd)

var oneI32 = vec(cat(1, I32))

// grow is what memory.grow and table.grow need around them.
func grow(pages int32) []byte { return cat(i32c(pages), opMemoryGrow, 0, 0x1a) }

func growTable(n int32) []byte {
	return cat(opRefNull, FuncRef, i32c(n), opPrefixMisc, miscTableGrow, 0, 0x1a)
}

func TestCharges(t *testing.T) {
	v128x3 := funcType(vec(), types(V128, V128, V128))
	three := rep(3, cat(opPrefixVector, vecConst, rep(16, 1))...)
	cases := []struct {
		name string
		wasm []byte
		want int64
	}{
		{"an empty function costs the least", plain(noLocals), 64},
		{"instructions are counted", plain(noLocals, rep(100, 0x01)), 101},
		{"dead code is counted", plain(noLocals, 0x0f, rep(100, 0x01)), 102},
		{"locals are counted", plain(vec(cat(40, I32), cat(50, I64)), rep(100, 0x01)), 191},
		{"parameters and results are counted",
			one(i2i, fn(noLocals, rep(100, 0x01), opLocalGet, 0), nil, nil), 102 + 2},
		{"a loop is charged at every pass", plain(oneI32, countdown), 64 + 5*6},
		{"a loop that is never entered costs nothing more",
			plain(noLocals, 0x0f, opLoop, blockEmpty, 0x0c, 0, opEnd), 64},
		{"an inner loop is charged by itself",
			plain(oneI32, opLoop, blockEmpty, countdown, opEnd), 64 + (2 + 1 + 1) + 5*6},
		{"a call costs the callee's entry", module(
			section(secType, void), section(secFunction, u32(0), u32(0)), section(secExport, export("run", KindFunction, 1)),
			section(secCode, fn(noLocals), fn(noLocals, 0x10, 0, 0x10, 0))), 3 * 64},
		{"a call counts its results, a return and a branch what they take", module(
			section(secType, v128x3, void), section(secFunction, u32(0), u32(1)), section(secExport, export("run", KindFunction, 1)),
			section(secCode,
				fn(noLocals, rep(100, 0x01), three, 0x0f), // 100 + 3 + return 3 + end 1 + results 3
				fn(noLocals, 0x10, 0, rep(3, 0x1a), opBlock, 0, three, 0x0c, 0, opEnd, rep(3, 0x1a), rep(100, 0x01)),
				// call 3 + drop 3 + block 3 + const 3 + br 3 + end 1 + drop 3 + nop 100 + end 1
			)), 110 + 120},
		{"a block counts its parameters or results, a branch to a loop its parameters", module(
			section(secType, void, funcType(types(V128, V128, V128), vec())), section(secFunction, u32(0)),
			section(secExport, export("run", KindFunction, 0)),
			section(secCode, fn(oneI32, rep(100, 0x01),
				three, opBlock, 1, rep(3, 0x1a), opEnd, // const 3 + block 3 + drop 3 + end 1
				three, opLoop, 1, opLocalGet, 0, opIf, blockEmpty, 0x0f, opEnd, i32c(1), 0x21, 0, 0x0c, 0, opEnd,
				// const 3 + loop 3 + the loop's pass of get, if, return, end, const, set, br 3, end = 10
			))), 100 + 10 + 6 + 10 + 1 + 1 + 2*10},
		{"memory.fill by bytes", withMemory(memoryOp(6400, miscMemoryFill, 0)), 64 + 800},
		{"memory.fill of less than 8 bytes", withMemory(memoryOp(7, miscMemoryFill, 0)), 64},
		{"memory.copy by bytes", withMemory(memoryOp(6400, miscMemoryCopy, 0, 0)), 64 + 800},
		{"memory.init by bytes", withMemory(memoryOp(640, miscMemoryInit, 0, 0)), 64 + 80},
		{"a length is unsigned", withMemory(memoryOp(-1, miscMemoryFill, 0)), 64 + (1<<32-1)/8},
		{"memory.grow by pages", withMemory(grow(2)), 64 + 2048},
		{"memory.grow that is refused", withMemory(grow(-1)), 64 + (1<<32-1)*1024},
		{"table.grow by elements", withMemory(growTable(7)), 64 + 7},
		{"table.init by elements", withMemory(memoryOp(3, miscTableInit, 0, 0)), 64 + 3},
		{"table.copy by elements", withMemory(memoryOp(9, miscTableCopy, 0, 0)), 64 + 9},
		{"table.fill by elements",
			withMemory(i32c(0), opRefNull, FuncRef, i32c(10), opPrefixMisc, miscTableFill, 0), 64 + 10},
	}
	rts := engines(t)
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			m := rewrite(t, c.wasm)
			for engine, rt := range rts {
				compile(t, rt, c.wasm)
				code := compile(t, rt, m.Code)
				args := []uint64{3}[:len(code.ExportedFunctions()["run"].ParamTypes())]
				if _, left := metered(t, rt, code, plenty, "run", args...); plenty-left != c.want {
					t.Errorf("%s: spent %d, want %d", engine, plenty-left, c.want)
				}
				if o, left := metered(t, rt, code, c.want-1, "run", args...); left != -1 || o.trap == "" {
					t.Errorf("%s: with a unit too few: %d left, trap %q", engine, left, o.trap)
				}
			}
		})
	}
}
