package trace

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func encode(t testing.TB, records ...Record) []byte {
	t.Helper()
	var b bytes.Buffer
	w := NewWriter(&b)
	for i := range records {
		if err := w.Write(&records[i]); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func readAll(r *Reader) (out []Record, err error) {
	for {
		rec, err := r.Read()
		if err == io.EOF {
			return out, nil
		}
		if err != nil {
			return out, err
		}
		out = append(out, rec)
	}
}

func TestWhatIsWrittenIsReadBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var want []Record
		for i := range rapid.IntRange(1, 5).Draw(t, "n") {
			r, gaps := drawEnded(t)
			rec := FromRequest(r, rapid.String().Draw(t, "class"), nil)
			// JSON text is Unicode: what is not comes back as U+FFFD.
			rec.Class = strings.ToValidUTF8(rec.Class, "\ufffd")
			rec.ID, rec.Gaps = fmt.Sprint("r", i), gaps
			want = append(want, rec)
		}
		var b bytes.Buffer
		w := NewWriter(&b)
		for i := range want {
			if err := w.Write(&want[i]); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
		got, err := readAll(NewReader(&b, Options{}))
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("%v\n got %+v\nwant %+v", err, got, want)
		}
	})
}

func TestAbsentIsNotZero(t *testing.T) {
	shed := Record{ID: "s", Outcome: "shed_at_arrival", Class: "c"}
	line := string(encode(t, shed))
	for _, field := range []string{"queue_ns", "ttft_ns", "tpot_ns", "max_gap_ns", "first_write_ns", "gaps"} {
		if strings.Contains(line, field) {
			t.Errorf("%s stands in %s", field, line)
		}
	}
}

func TestABadLineIsNamedByLineAndByte(t *testing.T) {
	good := string(encode(t, served()))
	n := len(good)
	for _, c := range []struct {
		name, text string
		line       int
		offset     int
		want       error
		says       string
	}{
		{"cut off", good + good[:n/2], 2, n + n/2, ErrTruncated, ""},
		{"syntax", good + `{"v":1,]` + "\n", 2, n + 7, nil, "invalid character ']'"},
		{"type", good + `{"v":1,"id":"b","status":"x"}` + "\n", 2, n + 28, nil, `field "status"`},
		{"newer", good + `{"v":9,"id":5}` + "\n", 2, n, ErrNewer, "version 9"},
		{"newer of the same shape", good + `{"v":2,"id":"5"}` + "\n", 2, n, ErrNewer, "up to 1"},
		{"foreign object", good + `{"id":"b"}` + "\n", 2, n, ErrForeign, `"v"`},
		{"foreign text", good + "hello\n", 2, n, ErrForeign, ""},
		{"NUL", good + "\n{\"v\":1,\x00}\n", 3, n + 1 + 7, ErrNUL, ""},
		{"NULs of a crash", good + strings.Repeat("\x00", 50), 2, n, ErrNUL, ""},
		{"too long", good + strings.Repeat("x", 5000) + "\n", 2, n, ErrTooLong, ""},
		{"impossible", good + `{"v":1,"id":"b","outcome":"lost"}` + "\n", 2, n, ErrInvalid, `"lost"`},
	} {
		r := NewReader(strings.NewReader(c.text), Options{Name: "f.jsonl", MaxLine: 2000})
		got, err := readAll(r)
		var at *LineError
		if len(got) != 1 || !errors.As(err, &at) {
			t.Errorf("%s: %d records, %v", c.name, len(got), err)
			continue
		}
		if at.Line != c.line || at.Offset != int64(c.offset) || at.Name != "f.jsonl" {
			t.Errorf("%s: line %d byte %d, want %d and %d (%v)", c.name, at.Line, at.Offset, c.line, c.offset, err)
		}
		if c.want != nil && !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

func TestSkipBadCountsAndGoesOn(t *testing.T) {
	good := string(encode(t, served()))
	text := good + "{}\n" + strings.Repeat("y", 9000) + "\n\n" + good + `{"v":2}` + "\n" + good + good[:40]
	r := NewReader(strings.NewReader(text), Options{SkipBad: true, MaxLine: 4000})
	got, err := readAll(r)
	if err != nil || len(got) != 3 || r.Skipped() != 4 {
		t.Errorf("%d records, %d skipped, %v", len(got), r.Skipped(), err)
	}
	// A file with nothing good in it is still refused, for the reason of its first line.
	_, err = readAll(NewReader(strings.NewReader(`{"v":2}`+"\n{}\n"), Options{SkipBad: true}))
	if !errors.Is(err, ErrNewer) {
		t.Error(err)
	}
}

func TestReadingGoesOnAfterAnError(t *testing.T) {
	good := string(encode(t, served()))
	r := NewReader(strings.NewReader("{}\n"+good), Options{})
	if _, err := r.Read(); !errors.Is(err, ErrForeign) {
		t.Fatal(err)
	}
	if rec, err := r.Read(); err != nil || rec.ID != "a" {
		t.Fatal(rec, err)
	}
}

func FuzzReader(f *testing.F) {
	good := encode(f, served())
	f.Add(good)
	f.Add(good[:len(good)/2])
	f.Add([]byte("{\"v\":1}\n{\"v\":2}\n\x00\n[]\n"))
	f.Add([]byte(`{"v":1,"id":"a","outcome":"length","output_tokens":2,"e2e_ns":9223372036854775807,"ttft_ns":9223372036854775807,"tpot_ns":1,"queue_ns":0}`))
	f.Add([]byte(`{"v":1,"id":"a","outcome":"failed","output_tokens":2,"emissions":2,"queue_ns":0,"ttft_ns":0,"tpot_ns":0,"max_gap_ns":0,"e2e_ns":9223372036854775807,"gaps":[{"ns":0,"n":1},{"ns":9223372036854775807,"n":1}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		r := NewReader(bytes.NewReader(data), Options{SkipBad: true, MaxLine: 1 << 16})
		for {
			rec, err := r.Read()
			if err != nil {
				return
			}
			if err := rec.Validate(); err != nil {
				t.Fatalf("the reader let through %+v: %v", rec, err)
			}
			line, err := json.Marshal(&rec)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := NewReader(bytes.NewReader(line), Options{}).Read(); err != nil {
				t.Fatalf("what was read cannot be read again: %v\n%s", err, line)
			}
		}
	})
}
