package store

import (
	"encoding/json"
	"errors"
	"testing"
)

func FuzzDecodeManifest(f *testing.F) {
	m := set(Digest(module(0)))
	m.Revision, m.Change = 7, Entry{Seq: 9, Revision: 7, Op: OpPush, At: noon}
	m.Policies[0].Previous = &Version{Digest: Digest(module(1)), Signature: "c2ln"}
	m.Shadows = map[string]Version{"p": {Digest: Digest(module(2))}}
	good, err := encodeManifest(m)
	if err != nil {
		f.Fatal(err)
	}
	body, _ := json.Marshal(m)
	f.Add(good, false)
	f.Add(good[:len(good)/2], false)
	f.Add(body, true)
	f.Add([]byte(`{"format":2}`), false)
	f.Add([]byte(`{"revision":1,"policies":[{}],"change":{"seq":1,"revision":1}}`), true)
	f.Fuzz(func(t *testing.T, b []byte, sealed bool) {
		if sealed { // past the digest, which no fuzzer guesses
			if !json.Valid(b) {
				return
			}
			b, _ = json.Marshal(seal(b))
		}
		m, err := decodeManifest(b)
		if err != nil {
			if !errors.Is(err, ErrDamaged) && !errors.Is(err, ErrNewer) {
				t.Fatalf("an error of no kind: %v", err)
			}
			return
		}
		again, err := encodeManifest(m)
		if err != nil {
			t.Fatal(err)
		}
		twice, err := decodeManifest(again)
		if err != nil {
			t.Fatal(err)
		}
		if a, b := text(t, m), text(t, twice); a != b {
			t.Fatalf("%s became %s", a, b)
		}
	})
}

func seal(body []byte) envelope {
	compact, _ := json.Marshal(json.RawMessage(body))
	return envelope{manifestFormat, Digest(compact), compact}
}

// text compares what times and empty maps show, not how they are held.
func text(t *testing.T, v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func FuzzDecodeHistory(f *testing.F) {
	line, _ := json.Marshal(Entry{Seq: 1, Revision: 1, Op: OpPush, Who: "ada", Left: &Left{Faults: map[string]uint64{"trap": 1}}})
	f.Add(append(line, '\n'))
	f.Add(append(append(line, '\n'), `{"seq":2`...))
	f.Add([]byte("\n\n{}\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		entries, rest, bad := decodeHistory(b)
		if rest > len(b) || len(entries)+bad > len(b) {
			t.Fatalf("%d entries, %d bad and %d bytes left of %d", len(entries), bad, rest, len(b))
		}
		var again []byte
		for _, e := range entries {
			line, err := json.Marshal(e)
			if err != nil {
				t.Fatal(err)
			}
			again = append(append(again, line...), '\n')
		}
		twice, rest, bad := decodeHistory(again)
		if len(twice) != len(entries) || rest != 0 || bad != 0 || text(t, twice) != text(t, entries) {
			t.Fatalf("%+v became %+v", entries, twice)
		}
	})
}
