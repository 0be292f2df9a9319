package program

// statements writes up to n statements: each takes nothing from the stack, and leaves nothing on it.
func (p *program) statements(n int) []byte {
	var out []byte
	for range p.pick(n + 1) {
		out = append(out, p.statement()...)
	}
	return out
}

func (p *program) statement() []byte {
	if p.depth >= 4 {
		return p.simple()
	}
	return p.one(p.simple, p.simple, p.simple, p.conditional, p.loop, p.loop, p.loopWithParameter, p.split, p.jump, p.bulk, p.call)
}

func (p *program) simple() []byte {
	return p.one(p.withNaNs([]func() []byte{
		func() []byte { return cat(p.i32(3), 0x21, p.local(typeI32)) },
		func() []byte { return cat(p.i64(3), 0x21, p.local(typeI64)) },
		func() []byte { return cat(p.f64(3), 0x21, p.local(typeF64)) },
		func() []byte { return cat(p.v128(2), 0x21, p.local(typeV128)) },
		func() []byte { return cat(p.i64(3), opGlobalSet, 1) },
		func() []byte { return cat(p.i32(3), opGlobalSet, 2) },
		func() []byte { return cat(p.address(), p.i32(3), 0x36, 2, u32(uint32(p.pick(64)))) },
		func() []byte { return cat(p.address(), p.i32(3), 0x3a, 0, 3) },
		func() []byte { return cat(p.address(), p.i64(3), 0x37, 3, 8) },
		func() []byte { return cat(p.address(), p.v128(2), opPrefixVector, 0x0b, 4, 0) },
		func() []byte { return cat(p.i32(3), 0x1a) },
		func() []byte { return cat(0x01) },
		func() []byte { return cat(i32(int32(p.pick(5))), 0x25, 0, 0x21, p.local(typeFuncRef)) },
		func() []byte { return cat(i32(int32(p.pick(4))), opLocalGet, p.local(typeFuncRef), 0x26, 0) },
	},
		func() []byte { return cat(p.address(), p.f64(3), 0x39, 3, 0) },
		func() []byte { return cat(p.address(), p.f32(3), 0x38, 2, 0) },
		func() []byte { return cat(p.address(), p.v128(3), opPrefixVector, 0x0b, 4, 0) },
	)...)
}

func (p *program) conditional() []byte {
	return cat(p.i32(2), opIf, blockEmpty, p.enter(true, func() []byte {
		then := p.statements(3)
		if p.pick(2) == 0 {
			return then
		}
		return cat(then, opElse, p.statements(3))
	}), opEnd)
}

// loop is left when no steps remain; it goes on while its condition holds, and from branches inside it.
func (p *program) loop() []byte {
	return cat(opBlock, blockEmpty, p.enter(true, func() []byte {
		return cat(opLoop, blockEmpty, p.enter(true, func() []byte {
			return cat(step, 0x0d, 1, p.statements(4), p.i32(2), 0x0d, 0)
		}), opEnd)
	}), opEnd)
}

func (p *program) loopWithParameter() []byte {
	return cat(p.i32(2), opBlock, typeLoop, p.enter(false, func() []byte {
		return cat(opLoop, typeLoop, p.enter(false, func() []byte {
			return cat(step, 0x0d, 1, p.statements(2), p.i32(2), 0x6a, p.i32(2), 0x0d, 0)
		}), opEnd)
	}), opEnd, 0x21, p.local(typeI32))
}

// split is a block of two results, left early or at its end.
func (p *program) split() []byte {
	return cat(opBlock, typeSplit, p.enter(false, func() []byte {
		return cat(p.statements(2), p.i32(2), p.i64(2), p.i32(1), 0x0d, 0)
	}), opEnd, 0x21, p.local(typeI64), 0x21, p.local(typeI32))
}

// jump leaves a block, the function, or the program; what follows it may be dead.
func (p *program) jump() []byte {
	a, ok := p.branch()
	if !ok {
		return cat(p.i32(2), opIf, blockEmpty, p.results(), 0x0f, opEnd)
	}
	b, _ := p.branch()
	return p.one(
		func() []byte { return cat(p.i32(2), 0x0d, a) },
		func() []byte { return cat(p.i32(2), 0x0d, b) },
		func() []byte { return cat(0x0c, a) },
		func() []byte { return cat(p.i32(2), 0x0e, vec(a, b), b) },
		func() []byte { return cat(p.results(), 0x0f) },
		func() []byte { return cat(p.i32(1), opIf, blockEmpty, opUnreachable, opEnd) },
	)
}

func (p *program) bulk() []byte {
	size := func() []byte { return cat(p.i32(2), i32(0x3ff), 0x71) }
	small := func() []byte { return i32(int32(p.pick(4))) }
	return p.one(
		func() []byte { return cat(p.address(), p.i32(2), size(), opPrefixMisc, miscMemoryFill, 0) },
		func() []byte { return cat(p.address(), p.i32(2), p.i32(1), opPrefixMisc, miscMemoryFill, 0) },
		func() []byte { return cat(p.address(), p.address(), size(), opPrefixMisc, miscMemoryCopy, 0, 0) },
		func() []byte { return cat(p.address(), small(), small(), opPrefixMisc, miscMemoryInit, 1, 0) },
		func() []byte { return cat(p.i32(1), opMemoryGrow, 0, 0x21, p.local(typeI32)) },
		func() []byte { return cat(small(), opMemoryGrow, 0, 0x21, p.local(typeI32)) },
		func() []byte { return cat(small(), small(), small(), opPrefixMisc, miscTableCopy, 0, 0) },
		func() []byte { return cat(small(), i32(0), small(), opPrefixMisc, miscTableInit, 1, 0) },
		func() []byte { return cat(small(), opRefNull, typeFuncRef, small(), opPrefixMisc, miscTableFill, 0) },
		func() []byte {
			return cat(opLocalGet, p.local(typeFuncRef), small(), opPrefixMisc, miscTableGrow, 0, 0x21, p.local(typeI32))
		},
		func() []byte { return cat(opPrefixMisc, miscDataDrop, 1) },
		func() []byte { return cat(opPrefixMisc, miscElemDrop, 1) },
	)
}

// call calls a function, by its index or through the table, and keeps its results.
func (p *program) call() []byte {
	f := p.pick(len(p.funcs))
	typ := p.funcs[f]
	how := cat(0x10, u32(uint32(f)))
	if p.pick(3) == 0 {
		how = cat(i32(int32(p.pick(5))), 0x11, u32(typ), 0)
	}
	switch typ {
	case typeInt:
		return cat(p.i32(2), how, 0x21, p.local(typeI32))
	case typePair:
		return cat(p.i32(2), p.i64(2), how, 0x21, p.local(typeI32), 0x21, p.local(typeI64))
	}
	return how
}
