package meter

import "unicode/utf8"

// functionNamesID is the only part of the name section that is kept.
const functionNamesID = 1

// custom reads a custom section: dropped, unless it is the first name section.
func (d *decoder) custom(r *reader) {
	if r.name() == "name" && d.names == nil && !r.failed() {
		d.names = &reader{buf: r.buf, pos: r.pos, end: r.end, function: -1}
	}
}

// functionNames gives a name section with the functions' names, for the runtime's stack traces, or nil where the original
// has none that are well formed: names never make a module invalid.
func (d *decoder) functionNames() []byte {
	content := d.nameContent()
	if content == nil {
		return nil
	}
	return appendSized(append(appendName(nil, "name"), functionNamesID), content)
}

// nameContent is the part of the name section that names functions; nil where it is not well formed.
func (d *decoder) nameContent() []byte {
	if d.names == nil {
		return nil
	}
	r := &reader{buf: d.names.buf, pos: d.names.pos, end: d.names.end, function: -1}
	for r.remaining() > 0 {
		id := r.byte()
		s := r.sub(r.u32())
		if r.failed() {
			return nil
		}
		if id == functionNamesID {
			content := s.buf[s.pos:s.end]
			if !d.validNames(s) {
				return nil
			}
			return content
		}
	}
	return nil
}

// validNames reports whether the functions named exist, each once and in order.
func (d *decoder) validNames(r *reader) bool {
	last := -1
	for range r.count(len(d.functions), "names") {
		i := int(r.index(len(d.functions), "function"))
		b := r.bytes(r.u32())
		if r.failed() || i <= last || !utf8.Valid(b) {
			return false
		}
		last = i
	}
	r.done("names")
	return !r.failed()
}
