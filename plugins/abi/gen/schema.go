package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
)

// Schema is the parsed form of abi.yaml.
type Schema struct {
	Major   int      `yaml:"major"`
	Minor   int      `yaml:"minor"`
	Enums   []Enum   `yaml:"enums"`
	Structs []Struct `yaml:"structs"`
}

// Enum is a named integer type with its values; Bits marks a set.
type Enum struct {
	Name   string  `yaml:"name"`
	Type   string  `yaml:"type"`
	Bits   bool    `yaml:"bits"`
	Doc    string  `yaml:"doc"`
	Values []Value `yaml:"values"`
}

// Value is one value of an Enum.
type Value struct {
	Name  string `yaml:"name"`
	Value int64  `yaml:"value"`
	Doc   string `yaml:"doc"`
}

// Struct is a layout: fields at natural alignment, in the order of the schema.
type Struct struct {
	Name   string   `yaml:"name"`
	Doc    string   `yaml:"doc"`
	Sized  bool     `yaml:"sized"`
	Fields []*Field `yaml:"fields"`

	Size, Align int `yaml:"-"`
}

// Field is one field of a Struct. Offset and the rest are computed by layout.
type Field struct {
	Name     string `yaml:"name"`
	Type     string `yaml:"type"`
	Optional bool   `yaml:"optional"`
	Group    string `yaml:"group"` // value of the enum Group, in snake case; "" = always there
	Since    int    `yaml:"since"` // minor version that appended it
	Enum     string `yaml:"enum"`  // whose value, or set of values, it holds; "" = a number
	Doc      string `yaml:"doc"`

	Offset, Size, Count int    `yaml:"-"`
	Elem                string `yaml:"-"`
	Bit                 int    `yaml:"-"`
}

var scalarSizes = map[string]int{"u8": 1, "i8": 1, "u16": 2, "u32": 4, "i32": 4, "u64": 8, "i64": 8}

// Load reads a schema and computes its layouts. It refuses unknown keys, unknown types and duplicate names.
func Load(path string) (*Schema, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read schema: %w", err)
	}
	var s Schema
	if err := yaml.UnmarshalWithOptions(text, &s, yaml.Strict()); err != nil {
		return nil, fmt.Errorf("parse schema: %w", err)
	}
	byName := map[string]*Struct{}
	for i := range s.Structs {
		st := &s.Structs[i]
		if byName[st.Name] != nil {
			return nil, fmt.Errorf("layout %s: defined twice", st.Name)
		}
		if err := st.layout(byName); err != nil {
			return nil, fmt.Errorf("layout %s: %w", st.Name, err)
		}
		byName[st.Name] = st
	}
	return &s, s.checkNames()
}

func (s *Schema) checkNames() error {
	known, enums := map[string]bool{"": true}, map[string]bool{"": true}
	for _, e := range s.Enums {
		enums[e.Name] = true
		for _, v := range e.Values {
			known[snake(v.Name)] = known[snake(v.Name)] || e.Name == "Group"
		}
	}
	for _, st := range s.Structs {
		for _, f := range st.Fields {
			if !known[f.Group] {
				return fmt.Errorf("layout %s: field %s: %q is no value of the enum Group", st.Name, f.Name, f.Group)
			}
			if !enums[f.Enum] {
				return fmt.Errorf("layout %s: field %s: there is no enum %q", st.Name, f.Name, f.Enum)
			}
		}
	}
	return nil
}

func (s *Struct) layout(known map[string]*Struct) error {
	seen := map[string]bool{}
	bit, offset := 0, 0
	s.Align = 1
	for _, f := range s.Fields {
		if seen[f.Name] {
			return fmt.Errorf("field %s: defined twice", f.Name)
		}
		seen[f.Name] = true
		size, align, err := f.resolve(known)
		if err != nil {
			return fmt.Errorf("field %s: %w", f.Name, err)
		}
		if f.Bit = -1; f.Optional {
			if !seen["valid"] {
				return fmt.Errorf("field %s: is optional, and no field named valid stands before it", f.Name)
			}
			f.Bit = bit
			bit++
		}
		offset = alignUp(offset, align)
		f.Offset, f.Size = offset, size*f.Count
		offset += f.Size
		s.Align = max(s.Align, align)
	}
	s.Size = alignUp(offset, s.Align)
	return nil
}

func (f *Field) resolve(known map[string]*Struct) (size, align int, err error) {
	f.Count, f.Elem = 1, f.Type
	if rest, ok := strings.CutPrefix(f.Type, "["); ok {
		n, elem, ok := strings.Cut(rest, "]")
		if f.Count, err = strconv.Atoi(n); !ok || err != nil || f.Count < 1 {
			return 0, 0, fmt.Errorf("bad array type %q", f.Type)
		}
		f.Elem = elem
	}
	if size, ok := scalarSizes[f.Elem]; ok {
		return size, size, nil
	}
	if st := known[f.Elem]; st != nil {
		return st.Size, st.Align, nil
	}
	return 0, 0, fmt.Errorf("unknown type %q", f.Elem)
}

// IsArray tells whether the field was declared as [N]type.
func (f *Field) IsArray() bool { return strings.HasPrefix(f.Type, "[") }

func alignUp(n, align int) int { return (n + align - 1) / align * align }
