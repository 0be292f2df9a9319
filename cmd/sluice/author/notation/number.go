package notation

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"time"

	"github.com/sluice-dev/sluice/plugins/abi"
)

// number is a field's value in 64 bits; those of signed fields are sign-extended.
type number uint64

var bounds = map[string]struct{ least, most *big.Int }{
	"u8": {big.NewInt(0), big.NewInt(math.MaxUint8)}, "i8": {big.NewInt(math.MinInt8), big.NewInt(math.MaxInt8)},
	"u16": {big.NewInt(0), big.NewInt(math.MaxUint16)},
	"u32": {big.NewInt(0), big.NewInt(math.MaxUint32)}, "i32": {big.NewInt(math.MinInt32), big.NewInt(math.MaxInt32)},
	"u64": {big.NewInt(0), new(big.Int).SetUint64(math.MaxUint64)}, "i64": {big.NewInt(math.MinInt64), big.NewInt(math.MaxInt64)},
}

func signed(typ string) bool { return typ[0] == 'i' }

// parseNumber reads what stands for a value of the field: a name, a number, or a number with the field's unit.
func parseNumber(f *abi.Field, text string) (number, error) {
	v, err := spelled(f, text)
	if err != nil {
		return 0, err
	}
	b := bounds[f.Type]
	if v.Cmp(b.least) < 0 || v.Cmp(b.most) > 0 {
		return 0, fmt.Errorf("%s = %s is not from %v to %v", f.Name, text, b.least, b.most)
	}
	if v.Sign() < 0 {
		return number(v.Int64()), nil //nolint:gosec // the bits are what is wanted
	}
	return number(v.Uint64()), nil
}

func spelled(f *abi.Field, text string) (*big.Int, error) {
	if v, ok := new(big.Int).SetString(text, 0); ok {
		return v, nil
	}
	switch text {
	case "true":
		return big.NewInt(1), nil
	case "false":
		return big.NewInt(0), nil
	}
	if f.Enum != "" {
		return enumValue(f, text)
	}
	for suffix, unit := range map[string]time.Duration{"_ns": time.Nanosecond, "_ms": time.Millisecond} {
		if !strings.HasSuffix(f.Name, suffix) {
			continue
		}
		d, err := time.ParseDuration(text)
		if err != nil {
			return nil, fmt.Errorf("%s = %q is neither a number nor a duration like 250ms", f.Name, text)
		}
		if d%unit != 0 {
			return nil, fmt.Errorf("%s = %s is no whole number of ms", f.Name, text)
		}
		return big.NewInt(int64(d / unit)), nil
	}
	if strings.HasSuffix(f.Name, "_ppm") || strings.Contains(f.Name, "_ppm_") {
		return perCent(f, text)
	}
	return nil, fmt.Errorf("%s = %q is not a whole number", f.Name, text)
}

// perCent reads a share that is written like 90% or 12.5%.
func perCent(f *abi.Field, text string) (*big.Int, error) {
	body, ok := strings.CutSuffix(text, "%")
	v, err := strconv.ParseFloat(body, 64)
	if !ok || err != nil || math.Abs(v) > 1e9 {
		return nil, fmt.Errorf("%s = %q is neither a number of ppm nor a share like 90%%", f.Name, text)
	}
	return big.NewInt(int64(math.Round(v * 1e4))), nil
}

// enumValue reads a name of the field's enum, or several with bars between them where it is a set.
func enumValue(f *abi.Field, text string) (*big.Int, error) {
	sum := int64(0)
	for _, word := range strings.Split(text, "|") {
		word = strings.TrimSpace(word)
		v, ok := named(f.Enum, word)
		if !ok || sum != 0 && !isSet(f.Enum) {
			names := enumNames(f.Enum)
			return nil, fmt.Errorf("%s = %q is none of %s%s", f.Name, word, strings.Join(names, ", "), didYouMean(word, names))
		}
		sum |= v
	}
	return big.NewInt(sum), nil
}

func named(enum, word string) (int64, bool) {
	for _, v := range abi.Enums[enum] {
		if v.Name == word {
			return v.Value, true
		}
	}
	return 0, false
}

func enumNames(enum string) []string {
	var names []string
	for _, v := range abi.Enums[enum] {
		names = append(names, v.Name)
	}
	return names
}

// isSet reports whether the values of an enum are bits.
func isSet(enum string) bool {
	for _, v := range abi.Enums[enum] {
		if v.Value <= 0 || v.Value&(v.Value-1) != 0 {
			return false
		}
	}
	return true
}

// setNames lists the names of the bits in v; what has no name is written as a number.
func setNames(enum string, v number) []string {
	names := []string{}
	for _, e := range abi.Enums[enum] {
		if uint64(v)&uint64(e.Value) != 0 {
			names = append(names, e.Name)
			v &^= number(e.Value)
		}
	}
	if v != 0 {
		names = append(names, fmt.Sprintf("%#x", uint64(v)))
	}
	return names
}

// put writes a number of the type into the first bytes.
func put(typ string, into []byte, v number) {
	switch typ {
	case "u8", "i8":
		into[0] = byte(v)
	case "u16":
		binary.LittleEndian.PutUint16(into, uint16(v))
	case "u32", "i32":
		binary.LittleEndian.PutUint32(into, uint32(v))
	default:
		binary.LittleEndian.PutUint64(into, uint64(v))
	}
}

func take(typ string, from []byte) number {
	switch typ {
	case "u8":
		return number(from[0])
	case "i8":
		return number(int8(from[0]))
	case "u16":
		return number(binary.LittleEndian.Uint16(from))
	case "u32":
		return number(binary.LittleEndian.Uint32(from))
	case "i32":
		return number(int32(binary.LittleEndian.Uint32(from)))
	}
	return number(binary.LittleEndian.Uint64(from))
}
