package meter

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

// guestGlobals is a module with 2 globals of its own, the first one mutable, and function "run".
func guestGlobals(locals []byte, code ...any) []byte {
	return one(void, fn(locals, code...), [][]byte{section(secGlobal,
		cat(I64, 1, i64c(5), opEnd), cat(I32, 0, i32c(5), opEnd))}, nil)
}

var refuel = cat(i64c(1<<40), opGlobalSet)

// TestNoWayToTheCounter: what is invalid before the rewrite, and would reach the counter after it.
func TestNoWayToTheCounter(t *testing.T) {
	importGlobal := section(secImport, cat(name("env"), name("g"), int(KindGlobal), I64, 1))
	cases := map[string][]byte{
		"global.set of the next index":      guestGlobals(noLocals, refuel, 2),
		"global.get of the next index":      guestGlobals(noLocals, opGlobalGet, 2, 0x1a),
		"padded index":                      guestGlobals(noLocals, refuel, 0x82, 0x80, 0),
		"no globals at all":                 plain(noLocals, refuel, 0),
		"in dead code":                      guestGlobals(noLocals, 0x0f, refuel, 2),
		"behind an imported one":            module(section(secType, void), importGlobal, section(secFunction, u32(0)), section(secCode, fn(noLocals, refuel, 1))),
		"export of the next index":          module(section(secExport, export("g", KindGlobal, 0))),
		"constant that reads the next":      module(section(secGlobal, cat(I64, 0, opGlobalGet, 0, opEnd))),
		"constant that reads its own":       module(section(secGlobal, cat(I64, 0, i64c(1), opEnd), cat(I64, 0, opGlobalGet, 0, opEnd))),
		"offset that reads the next":        module(section(secMemory, cat(0, 1)), section(secData, cat(0, opGlobalGet, 0, opEnd, name("x")))),
		"element that reads the next":       module(section(secTable, cat(FuncRef, 0, 1)), section(secElement, cat(5, FuncRef, vec(cat(opGlobalGet, 0, opEnd))))),
		"export under the counter's name":   module(section(secGlobal, cat(I64, 1, i64c(1), opEnd)), section(secExport, export(FuelExport, KindGlobal, 0))),
		"function under the counter's name": module(section(secType, void), section(secFunction, u32(0)), section(secExport, export(FuelExport, KindFunction, 0)), section(secCode, fn(noLocals))),
		"local.get of the hidden local":     withMemory(memoryOp(1, miscMemoryFill, 0), opLocalGet, 0, 0x1a),
		"local.set of the hidden local":     withMemory(i32c(0), 0x21, 0, memoryOp(1, miscMemoryFill, 0)),
		"local.tee behind declared ones":    plain(vec(cat(3, I32)), i32c(0), opLocalTee, 3, 0x1a),
		// One runtime reads a vector opcode's first byte only: to it 0x8c is a shift, and what follows is code.
		"padded vector opcode, hiding global.set": guestGlobals(noLocals,
			opPrefixVector, 0x8c, 0x80, 0, rep(7, 1), refuel, 0, 0x1a),
		"padded misc opcode":           withMemory(i32c(0), i32c(0), i32c(0), opPrefixMisc, 0x8b, 0, 0),
		"branch past the function":     plain(noLocals, 0x0c, 1),
		"function that is not there":   plain(noLocals, 0x10, 1),
		"type that is not there":       withMemory(i32c(0), 0x11, 1, 0),
		"table that is not there":      withMemory(i32c(0), 0x11, 0, 1),
		"data that is not there":       withMemory(memoryOp(1, miscMemoryInit, 1, 0)),
		"element that is not there":    withMemory(memoryOp(1, miscTableInit, 1, 0)),
		"block type that is not there": plain(noLocals, opBlock, 1, opEnd),
		"code behind the body's end":   plain(noLocals, opEnd, refuel, 0),
	}
	reasons := []string{"does not exist: there are", "belongs to the fuel counter", "in a padded encoding", "after its end"}
	for name, wasm := range cases {
		t.Run(name, func(t *testing.T) {
			m, err := Rewrite(wasm, testLimits())
			var e *Error
			if m != nil || !errors.As(err, &e) {
				t.Fatalf("accepted: %v", err)
			}
			if !slices.ContainsFunc(reasons, func(s string) bool { return strings.Contains(e.Detail, s) }) {
				t.Errorf("refused for another reason: %v", err)
			}
			if e.Offset <= 0 || e.Offset > len(wasm) {
				t.Errorf("offset %d in %d bytes: %v", e.Offset, len(wasm), err)
			}
		})
	}
}

// TestImportedGlobalIsNoWayIn: a mutable global of the host under the counter's name is not the counter.
func TestImportedGlobalIsNoWayIn(t *testing.T) {
	wasm := module(
		section(secType, void),
		section(secImport, cat(name("env"), name(FuelExport), int(KindGlobal), I64, 1)),
		section(secFunction, u32(0)),
		section(secExport, export("run", KindFunction, 0)),
		section(secCode, fn(noLocals, opLoop, blockEmpty, refuel, 0, 0x0c, 0, opEnd)))
	env := module(
		section(secGlobal, cat(I64, 1, i64c(0), opEnd)), section(secExport, export(FuelExport, KindGlobal, 0)))
	ctx := context.Background()
	rt := newRuntime(t, wazero.NewRuntimeConfigCompiler())
	if _, err := rt.InstantiateWithConfig(ctx, env, wazero.NewModuleConfig().WithName("env")); err != nil {
		t.Fatal(err)
	}
	if o, left := metered(t, rt, compile(t, rt, rewrite(t, wasm).Code), 1000, "run"); left >= 0 || o.trap != unreachableTrap {
		t.Errorf("%d left, trap %q", left, o.trap)
	}
}

func TestRefusedByName(t *testing.T) {
	code := func(b ...any) []byte { return plain(noLocals, b...) }
	cases := []struct {
		want string
		wasm []byte
	}{
		{"return_call (tail calls)", code(0x12, 0)},
		{"return_call_indirect (tail calls)", code(0x13, 0, 0)},
		{"call_ref (typed function references)", code(0x14, 0)},
		{"try_table (exception handling)", code(0x1f, blockEmpty, 0, opEnd)},
		{"throw (exception handling)", code(0x08, 0)},
		{"threads and atomics", code(0xfe, 0x03, 0)},
		{"garbage collection", code(0xfb, 0, 0)},
		{"relaxed SIMD", code(opPrefixVector, 0x80, 0x02)},
		{"wide arithmetic", code(opPrefixMisc, 0x13)},
		{"memory control", code(opPrefixMisc, 0x12, 0)},
		{"multi-memory", withMemory(i32c(0), 0x28, 0x42, 1, 0, 0x1a)},
		{"multi-memory", withMemory(0x3f, 1, 0x1a)},
		{"multi-memory", module(section(secMemory, cat(0, 1), cat(0, 1)))},
		{"threads", module(section(secMemory, cat(3, 1, 1)))},
		{"memory64", module(section(secMemory, cat(4, 1)))},
		{"custom page sizes", module(section(secMemory, cat(8, 1, 0)))},
		{"exception handling", module(rawSection(secTag, 1, 0, 0))},
		{"exception handling", module(section(secType, void), section(secImport, cat(name("a"), name("b"), 4, 0, 0)))},
		{"garbage collection", module(section(secType, cat(0x5f, 0)))},
		{"garbage collection", module(section(secType, cat(0x4e, 0)))},
		{"typed function references", module(section(secType, funcType(types(0x64), vec())))},
		{"exception handling", module(section(secGlobal, cat(0x69, 0, 0xd0, 0x69, opEnd)))},
		{"typed function references", module(section(secTable, cat(0x40, 0, FuncRef, 0, 1, 0xd0, FuncRef, opEnd)))},
		{"extended constant expressions", module(section(secGlobal, cat(I32, 0, i32c(1), i32c(1), 0x6a, opEnd)))},
		{"imported memory \"env\" \"m\"", module(section(secImport, cat(name("env"), name("m"), 2, 0, 1)))},
		{"imported table \"env\" \"t\"", module(section(secImport, cat(name("env"), name("t"), 1, FuncRef, 0, 1)))},
		{"no components", cat(magic, 0x0d, 0, 1, 0)},
	}
	for _, c := range cases {
		t.Run(c.want, func(t *testing.T) {
			_, err := Rewrite(c.wasm, testLimits())
			if !errors.Is(err, ErrUnsupported) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v", err)
			}
		})
	}
	_, err := Rewrite(module(
		section(secType, void), section(secImport, cat(name("env"), name("f"), 0, 0)), section(secFunction, u32(0), u32(0)),
		section(secCode, fn(noLocals), fn(noLocals, 0x01, 0x12, 0))), testLimits())
	if e, ok := errors.AsType[*Error](err); !ok || e.Function != 2 || !strings.Contains(err.Error(), "function 2, offset 0x27") {
		t.Errorf("the place: %v", err)
	}
}

func TestMalformed(t *testing.T) {
	good := withMemory(memoryOp(1, miscMemoryFill, 0), countdownless)
	for n := range good {
		if _, err := Rewrite(good[:n], testLimits()); err == nil && n != 8 && !sectionEnd(good, n) {
			t.Errorf("cut after %d of %d bytes: accepted", n, len(good))
		}
	}
	cases := map[string][]byte{
		"nothing":                        nil,
		"text":                           []byte("(module)"),
		"section twice":                  module(section(secType, void), section(secType, void)),
		"sections out of order":          module(section(secFunction), section(secType, void)),
		"unknown section":                module(rawSection(14, 0)),
		"4 billion types":                module(rawSection(secType, 0xff, 0xff, 0xff, 0xff, 0x0f)),
		"4 billion locals":               plain(cat(1, 0xff, 0xff, 0xff, 0xff, 0x0f, I32)),
		"4 billion targets":              plain(noLocals, i32c(0), 0x0e, 0xff, 0xff, 0xff, 0xff, 0x0f, 0),
		"index of 6 bytes":               plain(noLocals, 0x10, 0x80, 0x80, 0x80, 0x80, 0x80, 0),
		"index of 33 bits":               plain(noLocals, 0x10, 0x80, 0x80, 0x80, 0x80, 0x10),
		"i32 of 33 bits":                 plain(noLocals, opI32Const, 0x80, 0x80, 0x80, 0x80, 0x08, 0x1a),
		"i64 of 65 bits":                 plain(noLocals, opI64Const, rep(9, 0x80), 0x02, 0x1a),
		"function without a body":        module(section(secType, void), section(secFunction, u32(0))),
		"body without a function":        module(section(secCode, fn(noLocals))),
		"name that is no UTF-8":          module(section(secExport, export("\xff", KindMemory, 0))),
		"export twice":                   module(section(secMemory, cat(0, 1)), section(secExport, export("m", KindMemory, 0), export("m", KindMemory, 0))),
		"data count that is wrong":       module(section(secMemory, cat(0, 1)), rawSection(secDataCount, 1)),
		"memory.init without data count": module(section(secType, void), section(secFunction, u32(0)), section(secMemory, cat(0, 1)), section(secCode, fn(noLocals, memoryOp(0, miscMemoryInit, 0, 0))), section(secData, cat(1, name("x")))),
		"else without if":                plain(noLocals, opBlock, blockEmpty, opElse, opEnd),
		"memory that shrinks":            module(section(secMemory, cat(1, 2, 1))),
		"opcode that does not exist":     plain(noLocals, 0x27),
	}
	for name, wasm := range cases {
		if _, err := Rewrite(wasm, testLimits()); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

// countdownless is some control flow without locals.
var countdownless = cat(opBlock, blockEmpty, i32c(1), opIf, blockEmpty, 0x0c, 1, opElse, opEnd, opEnd)

// sectionEnd reports whether a cut at n leaves whole sections.
func sectionEnd(wasm []byte, n int) bool {
	r := &reader{buf: wasm, pos: 8, end: len(wasm)}
	for r.pos < n {
		r.byte()
		r.bytes(r.u32())
	}
	return r.pos == n
}

func TestLimitsAreKept(t *testing.T) {
	big := plain(vec(cat(100, I32)), rep(2000, 1))
	cases := map[string]struct {
		wasm []byte
		set  func(*Limits)
	}{
		"bytes":          {big, func(l *Limits) { l.MaxBytes = 1000 }},
		"rewritten":      {plain(noLocals, rep(300, opLoop, blockEmpty, opEnd)), func(l *Limits) { l.MaxBytes = 1000 }},
		"types":          {big, func(l *Limits) { l.MaxTypes = 0 }},
		"functions":      {big, func(l *Limits) { l.MaxFunctions = 0 }},
		"exports":        {big, func(l *Limits) { l.MaxExports = 0 }},
		"locals":         {big, func(l *Limits) { l.MaxLocals = 99 }},
		"all locals":     {big, func(l *Limits) { l.MaxModuleLocals = 99 }},
		"entry units":    {big, func(l *Limits) { l.MaxEntryUnits = 2000 }},
		"globals":        {guestGlobals(noLocals), func(l *Limits) { l.MaxGlobals = 1 }},
		"pages":          {withMemory(), func(l *Limits) { l.MaxMemoryPages = 0 }},
		"tables":         {withMemory(), func(l *Limits) { l.MaxTables = 0 }},
		"table elements": {withMemory(), func(l *Limits) { l.MaxTableElements = 9 }},
		"segments":       {withMemory(), func(l *Limits) { l.MaxSegments = 0 }},
		// Five blocks, and a branch out of each, with 3 locals: 10 and 10 * (10 + 4), and 4 for 16 instructions.
		"work":          {plain(vec(cat(3, I32)), rep(5, opBlock, blockEmpty), rep(5, 0x0c, 0, opEnd)), func(l *Limits) { l.MaxWork = 153 }},
		"all work":      {plain(vec(cat(3, I32)), rep(5, opBlock, blockEmpty), rep(5, 0x0c, 0, opEnd)), func(l *Limits) { l.MaxModuleWork = 153 }},
		"slow calls":    {plain(noLocals, rep(1000, 0x10, 0)), func(l *Limits) { l.MaxWork = 3000 }},
		"slow trapping": {plain(noLocals, rep(1000, opI32Const, 1, opI32Const, 1, 0x6d, 0x1a)), func(l *Limits) { l.MaxWork = 6500 }},
		"loops":         {plain(noLocals, rep(200, opLoop, blockEmpty, opEnd)), func(l *Limits) { l.MaxWork = 200 * 40 }},
		"nesting":       {plain(noLocals, rep(5, opBlock, blockEmpty), rep(5, opEnd)), func(l *Limits) { l.MaxNesting = 4 }},
		"imports": {module(section(secType, void), section(secImport, cat(name("env"), name("f"), 0, 0))),
			func(l *Limits) { l.MaxImports = 0 }},
		"parameters": {module(section(secType, i2i)), func(l *Limits) { l.MaxParams = 0 }},
	}
	for name, c := range cases {
		lim := testLimits()
		if _, err := Rewrite(c.wasm, lim); err != nil {
			t.Errorf("%s: with the defaults: %v", name, err)
		}
		c.set(&lim)
		if _, err := Rewrite(c.wasm, lim); !errors.Is(err, ErrLimit) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	for _, lim := range []Limits{{MaxMemoryPages: 65537}, {StartFuel: -1}, {MaxTableElements: -1}} {
		if _, err := Rewrite(big, lim); err == nil || errors.Is(err, ErrLimit) {
			t.Errorf("limits %+v: got %v", lim, err)
		}
	}
}

// TestSizesAreBounded: what a guest declares, and what it can grow to.
func TestSizesAreBounded(t *testing.T) {
	lim := testLimits()
	lim.MaxTableElements = 100
	rt := newRuntime(t, wazero.NewRuntimeConfigCompiler())
	for _, c := range []struct {
		memory, table []byte
		pages, elems  uint32
	}{
		{cat(0, 1), cat(FuncRef, 0, 1), 32, 100},
		{cat(1, 1, 5), cat(FuncRef, 1, 1, 7), 5, 7},
		{cat(1, 1, u32(65536)), cat(FuncRef, 1, 1, u32(1<<32-1)), 32, 100},
	} {
		m, err := Rewrite(module(
			section(secType, funcType(vec(), types(I32))), section(secFunction, u32(0), u32(0)),
			section(secTable, c.table), section(secMemory, c.memory),
			section(secExport, export("m", KindFunction, 0), export("t", KindFunction, 1)),
			section(secCode,
				fn(noLocals, opLoop, blockEmpty, i32c(1), opMemoryGrow, 0, i32c(-1), 0x47, 0x0d, 0, opEnd, 0x3f, 0),
				fn(noLocals, opLoop, blockEmpty, opRefNull, FuncRef, i32c(1), opPrefixMisc, miscTableGrow, 0,
					i32c(-1), 0x47, 0x0d, 0, opEnd, opPrefixMisc, miscTableSize, 0))), lim)
		if err != nil {
			t.Fatal(err)
		}
		if m.MemoryMin != 1 || m.MemoryMax != c.pages {
			t.Errorf("memory of %d to %d pages, want 1 to %d", m.MemoryMin, m.MemoryMax, c.pages)
		}
		code := compile(t, rt, m.Code)
		for fn, want := range map[string]uint32{"m": c.pages, "t": c.elems} {
			if o, _ := metered(t, rt, code, plenty, fn); o.results != " "+hex(uint64(want)) {
				t.Errorf("%s grows to %s, want %d", fn, o.results, want)
			}
		}
	}
}

// TestDescription: what the Module says, and that names survive where they are sound.
func TestDescription(t *testing.T) {
	sound := cat(name("name"), functionNamesID, appendSized(nil, vec(cat(0, name("host")), cat(1, name("decide")))))
	build := func(names []byte) []byte {
		return module(
			section(secType, i2i), section(secImport, cat(name("sluice"), name("log"), 0, 0)), section(secFunction, u32(0)),
			section(secMemory, cat(0, 2)), section(secExport, export("run", KindFunction, 1), export("memory", KindMemory, 0)),
			section(secCode, fn(noLocals, 0x00)), rawSection(secCustom, name("producers"), "x"), rawSection(secCustom, names))
	}
	m := rewrite(t, build(sound))
	i, e := m.Imports, m.Exports
	if len(i) != 1 || i[0].Module != "sluice" || i[0].Name != "log" || i[0].Kind != KindFunction || i[0].Signature.Params[0] != I32 {
		t.Errorf("imports %+v", i)
	}
	if len(e) != 2 || e[0].Name != "run" || e[0].Signature.Results[0] != I32 || e[1].Kind != KindMemory {
		t.Errorf("exports %+v", e)
	}
	if m.Functions != 1 || m.CodeBytes != 5 || m.MemoryMin != 2 || m.MemoryMax != 32 {
		t.Errorf("%d functions, %d bytes of code, %d to %d pages", m.Functions, m.CodeBytes, m.MemoryMin, m.MemoryMax)
	}
	if !strings.Contains(string(m.Code), "decide") || strings.Contains(string(m.Code), "producers") {
		t.Errorf("custom sections in %q", m.Code)
	}
	rt := newRuntime(t, wazero.NewRuntimeConfigCompiler())
	def := compile(t, rt, m.Code).ExportedFunctions()["run"]
	if def.Name() != "decide" || def.ParamTypes()[0] != api.ValueTypeI32 {
		t.Errorf("the runtime sees %s", def.DebugName())
	}
	for _, names := range [][]byte{
		cat(name("name"), functionNamesID, appendSized(nil, vec(cat(9, name("decide"))))),
		cat(name("name"), functionNamesID, appendSized(nil, vec(cat(1, name("decide")), cat(0, name("decide"))))),
		cat(name("name"), functionNamesID, appendSized(nil, vec(cat(1, name("decide\xff"))))),
		cat(name("name"), functionNamesID, u32(1000), vec(cat(1, name("decide")))),
		cat(name("name"), functionNamesID, appendSized(nil, cat(u32(1<<32-1), 1, name("decide")))),
	} {
		if m := rewrite(t, build(names)); strings.Contains(string(m.Code), "decide") {
			t.Errorf("kept the names %q", names)
		}
	}
}
