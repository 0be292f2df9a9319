package plugins

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
)

var notWasm = []struct {
	prefix string
	what   string
}{
	{"\x1f\x8b", "it is gzip data: unpack it first"},
	{"PK\x03\x04", "it is a zip archive: unpack it first"},
	{"\x28\xb5\x2f\xfd", "it is zstd data: unpack it first"},
	{"\x7fELF", "it is a native binary: build with GOOS=wasip1 GOARCH=wasm"},
	{"BC\xc0\xde", "it is LLVM bitcode: link it to WebAssembly first"},
	{"(module", "it is WebAssembly text: assemble it first"},
}

// CheckFormat says in the user's words why bytes cannot be a policy, before anything parses them in earnest.
func CheckFormat(wasm []byte) error {
	if !bytes.HasPrefix(wasm, []byte("\x00asm")) {
		for _, k := range notWasm {
			if bytes.HasPrefix(wasm, []byte(k.prefix)) {
				return errors.New("not a WebAssembly module: " + k.what)
			}
		}
		return errors.New("not a WebAssembly module: it does not begin with \\0asm")
	}
	if len(wasm) < 8 {
		return errors.New("truncated: the header is not complete; upload the whole file")
	}
	switch v := binary.LittleEndian.Uint32(wasm[4:]); v {
	case 1:
	case 0x1000d:
		return errors.New("it is a component: build a core module (for Rust, target wasm32-wasip1)")
	default:
		return fmt.Errorf("WebAssembly version %d is not 1", v)
	}
	return nil
}
