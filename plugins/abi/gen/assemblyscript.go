package main

import (
	"bytes"
	"fmt"
	"strings"
)

// asLayouts writes the layouts as AssemblyScript. Up to a struct's first array its fields are a class's own, with their
// offsets checked at compile time; an array, and whatever stands behind one, is read at its offset: the language has no
// arrays inside of a class.
func asLayouts(s *Schema) []byte {
	var b bytes.Buffer
	b.WriteString(header)
	fmt.Fprintf(&b, "/** The version of the ABI that these layouts describe. */\nexport const MAJOR: u16 = %d;\nexport const MINOR: u16 = %d;\n", s.Major, s.Minor)
	for _, e := range s.Enums {
		fmt.Fprintf(&b, "\n/** %s */\nexport enum %s {\n", e.Doc, e.Name)
		for _, v := range e.Values {
			fmt.Fprintf(&b, "  /** %s */\n  %s = %d,\n", v.Doc, v.Name, v.Value)
		}
		b.WriteString("}\n")
	}
	for _, st := range s.Structs {
		asStruct(&b, st)
		if grouped(st) {
			asPrefix(&b, s, st)
		}
	}
	return b.Bytes()
}

func asStruct(b *bytes.Buffer, st Struct) {
	fmt.Fprintf(b, "\n/** The size of %s in bytes. */\nexport const %s_SIZE: u32 = %d;\n", st.Name, strings.ToUpper(snake(st.Name)), st.Size)
	fmt.Fprintf(b, "\n/** %s */\n@unmanaged export class %s {\n", st.Doc, st.Name)
	own := ownFields(st)
	for i, f := range st.Fields {
		fmt.Fprintf(b, "  /** %s */\n", f.Doc)
		switch {
		case i < own:
			fmt.Fprintf(b, "  %s: %s;\n", lower(f.Name), f.Elem)
		case f.IsArray():
			asArray(b, f)
		default:
			asProperty(b, f)
		}
	}
	for _, f := range st.Fields {
		if f.Bit >= 0 {
			fmt.Fprintf(b, "  /** Whether %s holds a value. */\n  get has%s(): bool { return (this.valid >> %d & 1) != 0; }\n", lower(f.Name), upperFirst(lower(f.Name)), f.Bit)
		}
	}
	b.WriteString("}\n")
	for _, f := range st.Fields[:own] {
		fmt.Fprintf(b, "if (offsetof<%s>(%q) != %d) ERROR(\"%s.%s is not at %d\");\n", st.Name, lower(f.Name), f.Offset, st.Name, lower(f.Name), f.Offset)
	}
}

// asPrefix writes a function: how much of a struct's beginning holds all fields without a group and those of a set.
func asPrefix(b *bytes.Buffer, s *Schema, st Struct) {
	base, more := prefixes(st)
	fmt.Fprintf(b, "\n/** How many bytes of %s hold what a policy that reads the groups g looks at; g = 0 is all groups. */\n", st.Name)
	fmt.Fprintf(b, "export function %sBytes(g: Group): u32 {\n  if (g == 0) return %d;\n", strings.ToLower(st.Name), st.Size)
	for _, p := range more {
		fmt.Fprintf(b, "  if ((g & Group.%s) != 0) return %d;\n", strings.TrimPrefix(groupConst(s, p.group), "Group"), p.bytes)
	}
	fmt.Fprintf(b, "  return %d;\n}\n", base)
}

// ownFields is how many fields stand before the first array.
func ownFields(st Struct) int {
	for i, f := range st.Fields {
		if f.IsArray() {
			return i
		}
	}
	return len(st.Fields)
}

// asArray writes an accessor for the elements, and one to set them when they are numbers.
func asArray(b *bytes.Buffer, f *Field) {
	name, each := lower(f.Name), f.Size/f.Count
	bound := fmt.Sprintf("    if (<u32>i >= %d) throw new RangeError(\"%s has %d elements\");\n", f.Count, name, f.Count)
	at := fmt.Sprintf("changetype<usize>(this) + <usize>i * %d", each)
	if scalarSizes[f.Elem] == 0 {
		fmt.Fprintf(b, "  %s(i: i32): %s {\n%s    return changetype<%s>(%s + %d);\n  }\n", name, f.Elem, bound, f.Elem, at, f.Offset)
		return
	}
	fmt.Fprintf(b, "  %s(i: i32): %s {\n%s    return load<%s>(%s, %d);\n  }\n", name, f.Elem, bound, f.Elem, at, f.Offset)
	fmt.Fprintf(b, "  set%s(i: i32, x: %s): void {\n%s    store<%s>(%s, x, %d);\n  }\n", upperFirst(name), f.Elem, bound, f.Elem, at, f.Offset)
}

func asProperty(b *bytes.Buffer, f *Field) {
	name := lower(f.Name)
	fmt.Fprintf(b, "  get %s(): %s { return load<%s>(changetype<usize>(this), %d); }\n", name, f.Elem, f.Elem, f.Offset)
	fmt.Fprintf(b, "  set %s(x: %s) { store<%s>(changetype<usize>(this), x, %d); }\n", name, f.Elem, f.Elem, f.Offset)
}

// jsLayouts writes the layouts as data, for what reads and writes a module's memory from outside: the SDK's tests.
func jsLayouts(s *Schema) []byte {
	var b bytes.Buffer
	b.WriteString(header)
	fmt.Fprintf(&b, "export const MAJOR = %d;\nexport const MINOR = %d;\n", s.Major, s.Minor)
	for _, e := range s.Enums {
		fmt.Fprintf(&b, "\nexport const %s = {\n", e.Name)
		for _, v := range e.Values {
			fmt.Fprintf(&b, "  %s: %d,\n", v.Name, v.Value)
		}
		b.WriteString("};\n")
	}
	b.WriteString("\n// A field: its name, the type of an element, the offset, the number of elements (0: no array) and the bit of valid (-1: none).\nexport const layouts = {\n")
	for _, st := range s.Structs {
		fmt.Fprintf(&b, "  %s: {\n    size: %d,\n    fields: [\n", st.Name, st.Size)
		for _, f := range st.Fields {
			count := 0
			if f.IsArray() {
				count = f.Count
			}
			fmt.Fprintf(&b, "      [%q, %q, %d, %d, %d],\n", lower(f.Name), f.Elem, f.Offset, count, f.Bit)
		}
		b.WriteString("    ],\n  },\n")
	}
	b.WriteString("};\n")
	return b.Bytes()
}

// lower writes a name in snake case as in camelCase.
func lower(snake string) string {
	words := strings.Split(snake, "_")
	for i := 1; i < len(words); i++ {
		words[i] = upperFirst(words[i])
	}
	return strings.Join(words, "")
}

func upperFirst(s string) string { return strings.ToUpper(s[:1]) + s[1:] }
