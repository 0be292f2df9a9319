package store

import (
	"bytes"
	"reflect"
	"testing"

	"pgregory.net/rapid"
)

func TestKeysSortByTime(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := func() (int64, uint32, string) {
			return rapid.Int64Range(0, 1<<62).Draw(t, "arrival"), rapid.Uint32().Draw(t, "seq"), rapid.StringN(0, 300, 400).Draw(t, "class")
		}
		a1, s1, c1 := draw()
		a2, s2, c2 := draw()
		k1, k2 := recordKey(a1, s1, c1), recordKey(a2, s2, c2)
		if (a1 < a2 || a1 == a2 && s1 < s2) && bytes.Compare(k1, k2) >= 0 {
			t.Fatalf("%x does not sort before %x", k1, k2)
		}
		if bytes.Compare(timeKey(a1), k1) > 0 || bytes.Compare(timeKey(a1+1), k1) < 0 {
			t.Fatal("a record is not within its moment")
		}
		arrival, class, ok := splitKey(k1)
		if !ok || arrival != a1 || string(class) != c1[:min(len(c1), maxClassKey)] {
			t.Fatalf("%d %q %t", arrival, class, ok)
		}
	})
}

func FuzzDecodeValue(f *testing.F) {
	good, err := encodeValue(record("a", noon, "default"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add(good[:len(good)-1])
	f.Add([]byte{1, 2, '{', '}', 0xff, 0xff, 0xff, 0xff, 0x7f})
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		rec, err := decodeValue(b)
		if err != nil {
			return
		}
		again, err := encodeValue(rec)
		if err != nil {
			t.Fatal(err)
		}
		twice, err := decodeValue(again)
		if err != nil || !reflect.DeepEqual(rec, twice) {
			t.Fatalf("%v: %+v became %+v", err, rec, twice)
		}
	})
}

func FuzzDecodeMeta(f *testing.F) {
	f.Add(meta{layout: 1, records: 5}.encode())
	f.Add([]byte{0})
	f.Fuzz(func(t *testing.T, b []byte) {
		if m, err := decodeMeta(b); err == nil && !bytes.Equal(m.encode(), b[:12]) {
			t.Fatal(m)
		}
	})
}
