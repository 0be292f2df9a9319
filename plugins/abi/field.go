package abi

import "slices"

// Layout is one struct of the schema as data.
type Layout struct {
	Name   string
	Size   int // bytes
	Fields []Field
}

// Field is one field of a Layout.
type Field struct {
	Name   string // in snake case
	Type   string // of one element: u8 i8 u16 u32 i32 u64 i64, or a Layout's name
	Offset int    // bytes
	Size   int    // bytes, of all elements
	Count  int    // elements; 1 unless it is an array
	Bit    int    // of valid; -1 = the field is never absent
	Group  Group  // 0 = always there
	Since  int    // minor version
	Enum   string // in Enums, whose value or set of values it holds; "" = a number
	Doc    string
}

// EnumValue is one value of an enum by its name in snake case.
type EnumValue struct {
	Name  string
	Value int64
}

// All is what a policy that declares nothing reads.
const All = ^Group(0)

// Declared is what the field reads of a Descriptor means.
func Declared(reads uint32) Group {
	if reads == 0 {
		return All
	}
	return Group(reads)
}

// StateBytes is how much of State's beginning holds every field that is always there and all of the groups g. What lies
// behind it need not be copied to a policy that reads g.
func StateBytes(g Group) uint32 { return prefix("State", g) }

// RowBytes is the same for Row.
func RowBytes(g Group) uint32 { return prefix("Row", g) }

func prefix(layout string, g Group) uint32 {
	end := 0
	for _, f := range Layouts[layout].Fields {
		if f.Group == 0 || f.Group&g != 0 {
			end = max(end, f.Offset+f.Size)
		}
	}
	return uint32(end+7) &^ 7
}

// Scrub fills every field of st and of rows that is not in the groups g with a pattern that no server shows: what a policy
// that declares g may find there. Its decisions must not depend on it.
func Scrub(g Group, st *State, rows []Row) {
	scrub(g, "State", Bytes(st))
	for i := range rows {
		scrub(g, "Row", Bytes(&rows[i]))
	}
}

func scrub(g Group, layout string, bytes []byte) {
	fields := Layouts[layout].Fields
	valid := fields[slices.IndexFunc(fields, func(f Field) bool { return f.Name == "valid" })].Offset
	for _, f := range fields {
		if f.Group == 0 || f.Group&g != 0 {
			continue
		}
		for i := range f.Size {
			bytes[f.Offset+i] = 0x5a
		}
		if f.Bit >= 0 {
			bytes[valid+f.Bit/8] ^= 1 << (f.Bit % 8)
		}
	}
}
