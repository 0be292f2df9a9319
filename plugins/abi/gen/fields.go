package main

import (
	"bytes"
	"fmt"
	"go/format"
	"strings"
)

// goFields writes the layouts as data, for what reads or writes fields by name or by group.
func goFields(s *Schema) ([]byte, error) {
	var b bytes.Buffer
	b.WriteString(header)
	b.WriteString("package abi\n\n// Layouts describes every struct of the schema, by name.\nvar Layouts = map[string]*Layout{\n")
	for _, st := range s.Structs {
		fmt.Fprintf(&b, "%q: {Name: %q, Size: %d, Fields: []Field{\n", st.Name, st.Name, st.Size)
		for _, f := range st.Fields {
			fmt.Fprintf(&b, "{Name: %q, Type: %q, Offset: %d, Size: %d, Count: %d, Bit: %d, Group: %s, Since: %d, Enum: %q, Doc: %q},\n",
				f.Name, f.Elem, f.Offset, f.Size, f.Count, f.Bit, groupConst(s, f.Group), f.Since, f.Enum, f.Doc)
		}
		b.WriteString("}},\n")
	}
	b.WriteString("}\n\n// Enums describes every enum of the schema, by name: the values by their names in snake case.\nvar Enums = map[string][]EnumValue{\n")
	for _, e := range s.Enums {
		fmt.Fprintf(&b, "%q: {\n", e.Name)
		for _, v := range e.Values {
			fmt.Fprintf(&b, "{%q, %d},\n", snake(v.Name), v.Value)
		}
		b.WriteString("},\n")
	}
	b.WriteString("}\n")
	out, err := format.Source(b.Bytes())
	if err != nil {
		return nil, fmt.Errorf("format field tables: %w", err)
	}
	return out, nil
}

func groupConst(s *Schema, group string) string {
	for _, e := range s.Enums {
		for _, v := range e.Values {
			if e.Name == "Group" && group != "" && snake(v.Name) == group {
				return "Group" + v.Name
			}
		}
	}
	return "0"
}

// promise writes what a minor version promises: every value and every field with its place.
func promise(s *Schema) []byte {
	var b strings.Builder
	for _, e := range s.Enums {
		for _, v := range e.Values {
			fmt.Fprintf(&b, "%s %s %s = %d\n", e.Name, e.Type, snake(v.Name), v.Value)
		}
	}
	for _, st := range s.Structs {
		for _, f := range st.Fields {
			fmt.Fprintf(&b, "%s.%s %s at %d", st.Name, f.Name, f.Type, f.Offset)
			if f.Bit >= 0 {
				fmt.Fprintf(&b, " valid %d", f.Bit)
			}
			b.WriteByte('\n')
		}
	}
	return []byte(b.String())
}
