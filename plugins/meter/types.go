package meter

// ValueType is a WebAssembly value type, by its encoding.
type ValueType byte

// The value types that a module may use.
const (
	I32       ValueType = 0x7f
	I64       ValueType = 0x7e
	F32       ValueType = 0x7d
	F64       ValueType = 0x7c
	V128      ValueType = 0x7b
	FuncRef   ValueType = 0x70
	ExternRef ValueType = 0x6f
)

// String gives the text format's name.
func (t ValueType) String() string {
	switch t {
	case I32:
		return "i32"
	case I64:
		return "i64"
	case F32:
		return "f32"
	case F64:
		return "f64"
	case V128:
		return "v128"
	case FuncRef:
		return "funcref"
	case ExternRef:
		return "externref"
	}
	return "unknown"
}

// Signature is a function's type.
type Signature struct{ Params, Results []ValueType }

func valueTypes(b []byte) []ValueType {
	out := make([]ValueType, len(b))
	for i, t := range b {
		out[i] = ValueType(t)
	}
	return out
}

func (d *decoder) signature(function uint32) Signature {
	t := d.types[d.functions[function]]
	return Signature{Params: valueTypes(t.params), Results: valueTypes(t.results)}
}

// proposalOf names the proposal that a type's encoding belongs to; "" when none is known.
func proposalOf(t byte) string {
	switch t {
	case 0x63, 0x64:
		return "typed function references"
	case 0x68, 0x69, 0x74:
		return "exception handling"
	case 0x4e, 0x4f, 0x50, 0x5e, 0x5f, 0x65, 0x6a, 0x6b, 0x6c, 0x6d, 0x6e, 0x71, 0x72, 0x73, 0x77, 0x78:
		return "garbage collection"
	case 0x5d, 0x75:
		return "stack switching"
	}
	return ""
}

func isReference(t byte) bool { return t == byte(FuncRef) || t == byte(ExternRef) }

func isValueType(t byte) bool { return t >= byte(V128) && t <= byte(I32) || isReference(t) }

// badType reports an encoding that is no type here.
func (r *reader) badType(at int, t byte) {
	if p := proposalOf(t); p != "" {
		r.unsupported(at, "type 0x%x (%s)", t, p)
		return
	}
	r.malformed(at, "0x%x is no type", t)
}

func (r *reader) valueType() byte {
	at := r.pos
	t := r.byte()
	if !isValueType(t) {
		r.badType(at, t)
	}
	return t
}

func (r *reader) referenceType() byte {
	at := r.pos
	t := r.byte()
	if !isReference(t) {
		r.badType(at, t)
	}
	return t
}

func (d *decoder) typeSection(r *reader) {
	n := r.count(d.lim.MaxTypes, "types")
	d.types = make([]signature, 0, n)
	for range n {
		at := r.pos
		if form := r.byte(); form != 0x60 {
			r.badType(at, form)
		}
		t := signature{params: d.resultType(r), results: d.resultType(r)}
		if r.failed() {
			return
		}
		d.types = append(d.types, t)
	}
}

func (d *decoder) resultType(r *reader) []byte {
	n := r.count(d.lim.MaxParams, "parameters or results")
	start := r.pos
	for range n {
		r.valueType()
	}
	return r.buf[start:r.pos]
}

func (d *decoder) functionSection(r *reader) {
	n := r.count(d.lim.MaxFunctions-len(d.functions), "functions besides the imported ones")
	d.functions = append(make([]uint32, 0, len(d.functions)+n), d.functions...)
	for range n {
		d.functions = append(d.functions, r.index(len(d.types), "type"))
	}
}
