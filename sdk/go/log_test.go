package sluice

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func formatted(format string, args ...any) string {
	var l line
	l.format(format, args)
	return string(l.buf[:l.n])
}

// A line reads as package fmt would write it.
func TestLogfFormats(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, b, f := rapid.StringMatching(`[a-z ]{0,20}`).Draw(t, "s"), rapid.Bool().Draw(t, "b"), rapid.SliceOfN(rapid.Byte(), 0, 9).Draw(t, "bytes")
		i, u := rapid.Int64().Draw(t, "i"), rapid.Uint64().Draw(t, "u")
		args := []any{s, i, u, int8(i), uint16(u), b, f, s, int(i), uint32(u)}
		const format = "%s=%d, %v of %d%% (%d) %v %s [%q] %v%d"
		if got, want := formatted(format, args...), fmt.Sprintf(format, args...); got != want {
			t.Fatalf("got  %s\nwant %s", got, want)
		}
	})
}

// What is wrong with a call shows in the line, and nothing panics.
func TestLogfMistakes(t *testing.T) {
	for _, c := range []struct {
		format string
		args   []any
		want   string
	}{
		{"%d", nil, "%!(MISSING)"},
		{"x", []any{1}, "x%!(EXTRA)"},
		{"100%", nil, "100%"},
		{"%v", []any{1.5}, "%!(UNSUPPORTED)"},
		{"%v", []any{nil}, "%!(UNSUPPORTED)"},
		{"%d", []any{int64(math.MinInt64)}, "-9223372036854775808"},
	} {
		if got := formatted(c.format, c.args...); got != c.want {
			t.Errorf("%q: %q, not %q", c.format, got, c.want)
		}
	}
	if got := formatted(strings.Repeat("x", 2000)+"%d", 1); len(got) != maxLine {
		t.Errorf("a long line has %d bytes", len(got))
	}
}

// Logging does not allocate: a policy may log from a hook.
func TestLogfAllocates(t *testing.T) {
	n, s := int64(123456), strings.Repeat("s", 10)
	if got := testing.AllocsPerRun(100, func() {
		var l line
		l.format("%d of %s, %v", []any{n, s, true})
	}); got != 0 {
		t.Errorf("%v allocations a line", got)
	}
}
