package notation

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/sluice-dev/sluice/plugins/abi"
)

// Object is names and values in an order of their own.
type Object []Pair

// Pair is one name and its value.
type Pair struct {
	Name  string
	Value any
}

// MarshalJSON keeps the order.
func (o Object) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, p := range o {
		if i > 0 {
			b.WriteByte(',')
		}
		name, err := json.Marshal(p.Name)
		if err != nil {
			return nil, err
		}
		value, err := json.Marshal(p.Value)
		if err != nil {
			return nil, err
		}
		b.Write(append(append(name, ':'), value...))
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// Show is a struct of the layout by the names of its fields, without optional ones that hold no value. Enums are written by
// name and sets as lists of names, in numbers all else, so that Fill reads what Show writes.
func Show(layout string, from []byte) Object {
	o := Object{}
	for i := range abi.Layouts[layout].Fields {
		f := &abi.Layouts[layout].Fields[i]
		if f.Name == "size" || f.Name == "valid" || f.Bit >= 0 && !isValid(layout, from, f.Bit) {
			continue
		}
		o = append(o, Pair{f.Name, showField(f, from[f.Offset:f.Offset+f.Size])})
	}
	return o
}

func isValid(layout string, from []byte, bit int) bool {
	for _, f := range abi.Layouts[layout].Fields {
		if f.Name == "valid" {
			return take(f.Type, from[f.Offset:])&(1<<bit) != 0
		}
	}
	return true
}

func showField(f *abi.Field, from []byte) any {
	if f.Count == 1 {
		return showOne(f, from)
	}
	all := make([]any, f.Count)
	width := f.Size / f.Count
	for i := range all {
		all[i] = showOne(f, from[i*width:(i+1)*width])
	}
	return all
}

func showOne(f *abi.Field, from []byte) any {
	if _, ok := bounds[f.Type]; !ok {
		return Show(f.Type, from)
	}
	v := take(f.Type, from)
	switch {
	case f.Enum != "" && isSet(f.Enum):
		return setNames(f.Enum, v)
	case f.Enum != "":
		for _, e := range abi.Enums[f.Enum] {
			if number(e.Value) == v {
				return e.Name
			}
		}
	}
	if signed(f.Type) {
		return int64(v)
	}
	return uint64(v)
}

// Mismatch is one field that is not as it should be.
type Mismatch struct {
	Line      int // of the document
	Field     string
	Want, Got string // as people write them
}

// Diff compares the fields that the document gives with those of a struct of the layout.
func Diff(layout string, got []byte, doc *Node) ([]Mismatch, error) {
	want := bytes.Clone(got)
	if err := Fill(layout, want, doc); err != nil {
		return nil, err
	}
	var all []Mismatch
	for i := range doc.Members {
		m := &doc.Members[i]
		f, err := fieldOf(layout, m)
		if err != nil {
			return nil, err
		}
		width := f.Size / f.Count
		for k := range f.Count {
			at := f.Offset + k*width
			w, g := want[at:at+width], got[at:at+width]
			if bytes.Equal(w, g) {
				continue
			}
			name := f.Name
			if f.Count > 1 {
				name = fmt.Sprintf("%s[%d]", name, k)
			}
			all = append(all, Mismatch{m.Line, name, write(f, w), write(f, g)})
		}
	}
	return all, nil
}

// write is a value as people write it.
func write(f *abi.Field, from []byte) string {
	switch v := showOne(f, from).(type) {
	case []string:
		return "[" + strings.Join(v, ", ") + "]"
	case int64:
		return withUnit(f.Name, v)
	case uint64:
		if v < 1<<62 {
			return withUnit(f.Name, int64(v))
		}
		return strconv.FormatUint(v, 10)
	default:
		return fmt.Sprint(v)
	}
}

func withUnit(name string, v int64) string {
	switch {
	case strings.HasSuffix(name, "_ns"):
		return time.Duration(v).String()
	case strings.HasSuffix(name, "_ms") && v < 1<<40:
		return (time.Duration(v) * time.Millisecond).String()
	}
	return strconv.FormatInt(v, 10)
}
