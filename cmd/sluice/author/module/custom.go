package module

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strings"

	"github.com/sluice-dev/sluice/plugins/abi"
	"github.com/sluice-dev/sluice/plugins/meter"
)

// producers reads the section of that name, as far as it is well formed: who made a module is never a reason to refuse it.
func producers(body []byte) (all []Producer) {
	r := &reader{buf: body}
	for range r.count() {
		field := r.text()
		for range r.count() {
			p := Producer{field, r.text(), r.text()}
			if r.bad {
				return all
			}
			all = append(all, p)
		}
	}
	return all
}

// reader reads counts and strings. After a mistake it gives zeros.
type reader struct {
	buf []byte
	bad bool
}

func (r *reader) count() uint64 {
	v, n := binary.Uvarint(r.buf)
	if n <= 0 || v > uint64(len(r.buf)) {
		r.bad, r.buf = true, nil
		return 0
	}
	r.buf = r.buf[n:]
	return v
}

func (r *reader) text() string {
	n := r.count()
	if n > uint64(len(r.buf)) {
		r.bad, r.buf = true, nil
		return ""
	}
	s := strings.ToValidUTF8(string(r.buf[:n]), "?")
	r.buf = r.buf[n:]
	return s
}

// descriptor finds a descriptor that stands in the data as it will be. Languages that fill it in when they start have none.
func descriptor(data [][]byte) (d abi.Descriptor, ok bool) {
	magic := binary.LittleEndian.AppendUint32(nil, abi.Magic)
	for _, segment := range data {
		for rest := segment; ; rest = rest[1:] {
			at := bytes.Index(rest, magic)
			if at < 0 {
				break
			}
			if rest = rest[at:]; len(rest) < abi.DescriptorSize {
				break
			}
			copy(abi.Bytes(&d), rest)
			if d.Major == abi.Major && d.Hooks != 0 && d.Flags == 0 {
				return d, true
			}
		}
	}
	return abi.Descriptor{}, false
}

// The languages that a module is known to be written in.
const (
	langGo             = "Go"
	langRust           = "Rust"
	langAssemblyScript = "AssemblyScript"
	langC              = "C"
)

// language is what the producers say, else what only one compiler writes.
func language(d *meter.Description, made []Producer) string {
	for _, p := range made {
		switch {
		case p.Field != "language":
		case strings.HasPrefix(p.Name, "C_plus_plus"):
			return "C++"
		case strings.HasPrefix(p.Name, "C"):
			return langC
		default:
			return p.Name
		}
	}
	if slices.ContainsFunc(d.Sections, func(s meter.Section) bool { return s.Name == "go:buildid" }) {
		return langGo
	}
	for _, f := range d.Functions {
		switch {
		case strings.HasPrefix(f.Name, "~lib/"):
			return langAssemblyScript
		case strings.HasPrefix(f.Name, "_ZN4core") || strings.HasPrefix(f.Name, "_R"):
			return langRust
		}
	}
	if slices.ContainsFunc(d.Data, func(b []byte) bool { return bytes.Contains(b, []byte("~\x00l\x00i\x00b\x00/")) }) {
		return langAssemblyScript // the files that its library's errors name, in its strings' encoding
	}
	if slices.ContainsFunc(made, func(p Producer) bool { return strings.Contains(p.Name, "clang") }) {
		return langC
	}
	return ""
}
