package engine

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// The text shown must not depend on how its bytes were cut into tokens, and must end before the first stop string.
func TestTextStreamShowsTheSameHoweverItIsCut(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOfN(rapid.SampledFrom([]rune("ab \né漢😀")), 0, 40, -1).Draw(t, "text")
		stops := rapid.SliceOfN(rapid.StringOfN(rapid.SampledFrom([]rune("ab\né")), 1, 3, -1), 0, 3).Draw(t, "stops")
		want, cut := text, false
		first := len(text)
		for _, s := range stops {
			if i := strings.Index(text, s); i >= 0 && i < first {
				first, cut = i, true
			}
		}
		want = text[:first]
		s := textStream{stops: stops}
		var got strings.Builder
		stopped := false
		for rest := []byte(text); len(rest) > 0 && !stopped; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "cut")
			var out string
			out, stopped = s.push(rest[:n])
			got.WriteString(out)
			rest = rest[n:]
		}
		if !stopped {
			got.WriteString(s.flush())
		}
		// A longer stop string that starts earlier may complete later than a shorter one inside it.
		if stopped != cut || !strings.HasPrefix(want, got.String()) && !strings.HasPrefix(got.String(), want) {
			t.Fatalf("text %q, stops %q: got %q (stopped %v), want %q", text, stops, got.String(), stopped, want)
		}
		if !cut && got.String() != text {
			t.Fatalf("got %q, want %q", got.String(), text)
		}
	})
}

func TestTextStreamReplacesBytesThatAreNoText(t *testing.T) {
	s := textStream{}
	a, _ := s.push([]byte{'a', 0xff, 'b'})
	b, _ := s.push([]byte{0xe6})
	if got := a + b + s.flush(); got != "a\uFFFDb\uFFFD" {
		t.Errorf("got %q", got)
	}
}
