package conformance

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sluice-dev/sluice/policies/wasmtest"
)

// compareWords checks that both modules say the same of settings of all kinds, right and wrong. The modules' memory is their own
// throughout: a decoder that remembers what it was told before shows.
func compareWords(t *testing.T, name string, s Settings, seed uint64, want, got *wasmtest.Guest) {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 3000))
	keys, values := words(s)
	for range 500 {
		settings := map[string]string{}
		for range rng.IntN(4) {
			settings[bent(rng, keys)] = bent(rng, values)
		}
		text, err := json.Marshal(settings)
		if err != nil {
			t.Fatal(err)
		}
		if rng.IntN(3) == 0 { // no host writes this
			text = broken(rng, text)
		}
		a, b := want.ConfigureText(text), got.ConfigureText(text)
		if (a == nil) != (b == nil) || a != nil && a.Error() != b.Error() {
			t.Errorf("%s: to the settings %q it says\n%v\nand should say\n%v", name, text, b, a)
			return
		}
	}
}

// broken changes some bytes.
func broken(rng *rand.Rand, text []byte) []byte {
	const telling = `{}[]":,\u0d8 x`
	for range 1 + rng.IntN(3) {
		switch at := rng.IntN(len(text) + 1); rng.IntN(3) {
		case 0:
			text = slices.Insert(text, at, telling[rng.IntN(len(telling))])
		case 1:
			text = text[:at]
		case 2:
			if at < len(text) {
				text[at] = byte(rng.Uint64())
			}
		}
	}
	return text
}

// words are the keys and the values that stand in some configuration, in their order.
func words(s Settings) (keys, values []string) {
	values = []string{"", "0", "1", "on", "9223372036854775807", "100%", "1h1m1s1ms1us1ns", "\x00", "\u00e9\u20ac\U0001f600", `"\`, "<&>", "\x7f\u2028"}
	for _, list := range [][]map[string]string{s.Taken, s.Refused} {
		for _, config := range list {
			for _, k := range sortedKeys(config) {
				keys, values = append(keys, k), append(values, config[k])
			}
		}
	}
	return append(keys, "no such setting", "\u00e9"), values
}

// bent is one of the words, and now and then one with a change.
func bent(rng *rand.Rand, list []string) string {
	s := list[rng.IntN(len(list))]
	at := rng.IntN(len(s) + 1)
	switch rng.IntN(12) {
	case 0:
		return s[:at] + string(rune(' '+rng.IntN(96))) + s[at:]
	case 1:
		return s[:at]
	case 2:
		for len(s) < 700 {
			s += s + "x"
		}
	}
	return s
}
