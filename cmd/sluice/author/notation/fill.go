package notation

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/sluice-dev/sluice/plugins/abi"
)

// derived are the fields that follow from the others.
var derived = []string{"size", "valid"}

// Fill writes the fields that the document gives, by their names, into a struct of the layout, and leaves all others. An
// optional field that is given holds a value from then on, and none when null is given. Errors are *Error.
//
// A number may be written with its field's unit: 30s and 250ms for _ns and _ms, 90% for _ppm; true and false are 1 and 0. An
// enum's value is written by its name, a set as a list or with bars. An array is a list, or a map from indexes.
func Fill(layout string, into []byte, doc *Node) error {
	if err := doc.Want(Map, layout); err != nil {
		return err
	}
	for i := range doc.Members {
		m := &doc.Members[i]
		f, err := fieldOf(layout, m)
		if err != nil {
			return err
		}
		if f.Bit >= 0 {
			setValid(layout, into, f.Bit, m.Value.Kind != Null)
			if m.Value.Kind == Null {
				continue
			}
		}
		if err := fillField(f, into[f.Offset:f.Offset+f.Size], m.Value); err != nil {
			return err
		}
	}
	return nil
}

func fieldOf(layout string, m *Member) (*abi.Field, error) {
	fields := abi.Layouts[layout].Fields
	i := slices.IndexFunc(fields, func(f abi.Field) bool { return f.Name == m.Key })
	switch {
	case slices.Contains(derived, m.Key):
		return nil, m.Errorf("%s is not to be given: it follows from the other fields", m.Key)
	case i < 0:
		return nil, m.Errorf("%s has no field %q%s", layout, m.Key, didYouMean(m.Key, FieldNames(layout)))
	}
	return &fields[i], nil
}

// FieldNames lists the fields of a layout that can be given.
func FieldNames(layout string) []string {
	var names []string
	for _, f := range abi.Layouts[layout].Fields {
		if !slices.Contains(derived, f.Name) {
			names = append(names, f.Name)
		}
	}
	return names
}

func setValid(layout string, into []byte, bit int, on bool) {
	for _, f := range abi.Layouts[layout].Fields {
		if f.Name != "valid" {
			continue
		}
		if v := take(f.Type, into[f.Offset:]); on {
			put(f.Type, into[f.Offset:], v|1<<bit)
		} else {
			put(f.Type, into[f.Offset:], v&^(1<<bit))
		}
	}
}

func fillField(f *abi.Field, into []byte, v *Node) error {
	switch {
	case f.Count == 1 && v.Kind == List && f.Enum != "" && isSet(f.Enum):
		return fillSet(f, into, v)
	case f.Count == 1:
		return fillOne(f, into, v)
	case v.Kind == List:
		if len(v.Items) > f.Count {
			return v.Errorf("%s has %d elements, and %d are given", f.Name, f.Count, len(v.Items))
		}
		for i, item := range v.Items {
			if err := fillElement(f, into, i, item); err != nil {
				return err
			}
		}
		return nil
	case v.Kind == Map:
		for i := range v.Members {
			m := &v.Members[i]
			n, err := strconv.Atoi(m.Key)
			if err != nil || n < 0 || n >= f.Count {
				return m.Errorf("%s is a list: %q is not an index from 0 to %d", f.Name, m.Key, f.Count-1)
			}
			if err := fillElement(f, into, n, m.Value); err != nil {
				return err
			}
		}
		return nil
	}
	return v.Errorf("%s must be a list of up to %d, or a map from indexes", f.Name, f.Count)
}

func fillElement(f *abi.Field, into []byte, i int, v *Node) error {
	width := f.Size / f.Count
	return fillOne(f, into[i*width:(i+1)*width], v)
}

func fillOne(f *abi.Field, into []byte, v *Node) error {
	if _, ok := bounds[f.Type]; !ok {
		return Fill(f.Type, into, v)
	}
	if v.Kind != Scalar {
		return v.Errorf("%s must be a value, and not %v", f.Name, v.Kind)
	}
	x, err := parseNumber(f, v.Text)
	if err != nil {
		return v.Errorf("%v", err)
	}
	put(f.Type, into, x)
	return nil
}

func fillSet(f *abi.Field, into []byte, v *Node) error {
	sum := number(0)
	for _, item := range v.Items {
		x, err := parseNumber(f, item.Text)
		if err != nil {
			return item.Errorf("%v", err)
		}
		sum |= x
	}
	put(f.Type, into, sum)
	return nil
}

// Number reads one whole number that is called name, from least to most.
func (n *Node) Number(name string, least, most int64) (int64, error) {
	if err := n.Want(Scalar, name); err != nil {
		return 0, err
	}
	v, err := strconv.ParseInt(n.Text, 0, 64)
	if err != nil || v < least || v > most {
		return 0, n.Errorf("%s must be a whole number from %d to %d, and not %q", name, least, most, n.Text)
	}
	return v, nil
}

// Strings reads a list of values, or one value as a list of one.
func (n *Node) Strings(name string) ([]string, error) {
	if n.Kind == Scalar {
		return []string{n.Text}, nil
	}
	if err := n.Want(List, name); err != nil {
		return nil, err
	}
	var all []string
	for i, item := range n.Items {
		if err := item.Want(Scalar, fmt.Sprintf("%s[%d]", name, i)); err != nil {
			return nil, err
		}
		all = append(all, item.Text)
	}
	return all, nil
}
