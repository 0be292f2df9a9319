package llama

import "testing"

func TestSpareMemoryIsTakenWhereItFits(t *testing.T) {
	var s spare
	for _, mib := range []int{20, 3, 8, 5} {
		s.give(make([]byte, mib<<20))
	}
	for _, c := range []struct{ need, got int }{
		{4 << 20, 5},    // the smallest that fits
		{6 << 20, 8},    // a quarter and a unit too large
		{1 << 20, 1},    // 3 MiB would be wasted on it: new, and of one unit
		{9<<20 + 1, 10}, // nor 20 MiB on this
		{20 << 20, 20},
	} {
		b := s.take(c.need)
		if cap(b) != c.got<<20 || len(b) != 0 {
			t.Errorf("%d bytes: got %d of %d, want 0 of %d MiB", c.need, len(b), cap(b), c.got)
		}
	}
	if len(s) != 1 || cap(s[0]) != 3<<20 {
		t.Errorf("%d buffers are left, want that of 3 MiB", len(s))
	}
}

func TestSpareMemoryIsBounded(t *testing.T) {
	var s spare
	for _, mib := range []int{30, 30, 20, 40} {
		s.give(make([]byte, mib<<20))
	}
	if len(s) != 2 || cap(s[0]) != 20<<20 || cap(s[1]) != 40<<20 {
		t.Errorf("%d buffers, want the newest two", len(s))
	}
	if s.give(make([]byte, mostSpare+1)); len(s) != 0 {
		t.Errorf("%d buffers after one that is too large by itself, want none", len(s))
	}
}
