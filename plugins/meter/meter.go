package meter

import "bytes"

// FuelExport is the name of the exported mutable i64 global that the host sets before a call and reads after it, in
// units. Below zero means that the guest was stopped for want of fuel.
const FuelExport = "sluice_fuel"

// Module is a rewritten module, and what the original says about itself. It shares nothing with the input.
type Module struct {
	Code    []byte // the rewritten binary
	Imports []Import
	Exports []Export // the original's: FuelExport is not among them

	MemoryMin, MemoryMax uint32 // in pages of 64 KiB, as rewritten; both 0 when the module has no memory

	Functions int // defined, imports not counted
	CodeBytes int // of the original's code section
}

// Rewrite checks an untrusted binary against lim and returns it metered, as the package's comment describes. Custom
// sections are dropped, but for the functions' names where those are well formed. An *Error says what was refused; the same
// input always gives the same output. Any goroutine may call it.
func Rewrite(wasm []byte, lim Limits) (*Module, error) {
	if err := lim.check(); err != nil {
		return nil, err
	}
	d := &decoder{lim: &lim, dataCount: -1, out: &Module{}}
	if err := d.decode(wasm); err != nil {
		return nil, err
	}
	d.out.Code = d.encode()
	return d.out, nil
}

// decode reads and checks a whole binary.
func (d *decoder) decode(wasm []byte) error {
	r := &reader{buf: wasm, end: len(wasm), function: -1}
	if len(wasm) > d.lim.MaxBytes {
		r.fail(ErrLimit, 0, "%d bytes, more than the limit of %d", len(wasm), d.lim.MaxBytes)
	}
	d.header(r)
	d.sections(r)
	d.finish(r)
	return r.error()
}

var (
	magic   = []byte("\x00asm")
	version = []byte{1, 0, 0, 0}
)

func (d *decoder) header(r *reader) {
	if !bytes.HasPrefix(r.buf, magic) {
		r.malformed(0, "not a WebAssembly binary: it does not start with \\0asm")
	}
	r.bytes(4)
	if v := r.bytes(4); r.err == nil && !bytes.Equal(v, version) {
		r.unsupported(4, "version or layer %x: only core modules of version 1, no components", v)
	}
}
