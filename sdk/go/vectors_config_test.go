package sluice_test

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	sluice "github.com/sluice-dev/sluice/sdk/go"
)

const configHead = `# Which configurations every SDK takes, what its getters return, and what it says of mistakes, to the byte. Written by
# go test ./sdk/go -run Vectors -update.
#
# Each line is a word and what belongs to it. A byte outside 0x20 to 0x7e, and %, is written as %HH, and within the fields of a
# get a space is %20. The fields of a get are separated by single spaces, and may be empty. A case is:
#
#   json TEXT                                   ParseConfig of TEXT, which is the rest of the line
#   get KIND KEY ARGUMENTS : VALUE              a getter with its arguments, and what it returns; in this order
#     string KEY DEFAULT : TEXT
#     one_of KEY ALLOWED ALLOWED ... : TEXT
#     bool KEY DEFAULT : 0 or 1                 DEFAULT is 0 or 1
#     int, duration, ratio KEY DEFAULT LEAST MOST : INTEGER
#     class_durations KEY DEFAULT LEAST MOST : 16 INTEGERS
#   refuse TEXT                                 Configure returns the error TEXT after these getters
#   err TEXT                                    all that is wrong, its first 512 bytes; nothing wrong: no TEXT
#
# Where the text cannot be parsed, err follows json at once.
`

// Whoever changes what a configuration means changes it in all SDKs.
func TestVectorsConfig(t *testing.T) {
	var b configVectors
	b.WriteString(configHead)
	b.syntax()
	b.values()
	b.several()
	b.random(rand.New(rand.NewPCG(3, 4)))
	checkVectors(t, "config.txt", b.Bytes())
}

type configVectors struct{ bytes.Buffer }

// text is a line whose text is the rest of it.
func (b *configVectors) text(word, text string) {
	b.WriteString(word)
	if text != "" {
		b.WriteByte(' ')
	}
	b.escaped(text, ' ')
	b.WriteByte('\n')
}

func (b *configVectors) get(fields ...string) {
	b.WriteString("get")
	for _, f := range fields {
		b.WriteByte(' ')
		b.escaped(f, '!')
	}
	b.WriteByte('\n')
}

func (b *configVectors) escaped(s string, least byte) {
	for i := range len(s) {
		if c := s[i]; c < least || c > '~' || c == '%' {
			fmt.Fprintf(b, "%%%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
}

// ask is one line with a getter: it asks c, and writes what it was told.
type ask func(b *configVectors, c *sluice.Config)

func askNumber(kind, key string, def, least, most int64) ask {
	return func(b *configVectors, c *sluice.Config) {
		get := map[string]func(string, int64, int64, int64) int64{"int": c.Int, "duration": c.Duration, "ratio": c.Ratio}[kind]
		b.get(kind, key, text(def), text(least), text(most), ":", text(get(key, def, least, most)))
	}
}

func askClasses(key string, def, least, most int64) ask {
	return func(b *configVectors, c *sluice.Config) {
		fields := []string{"class_durations", key, text(def), text(least), text(most), ":"}
		for _, ns := range c.ClassDurations(key, def, least, most) {
			fields = append(fields, text(ns))
		}
		b.get(fields...)
	}
}

func askBool(key string, def bool) ask {
	return func(b *configVectors, c *sluice.Config) {
		b.get("bool", key, text(bit(def)), ":", text(bit(c.Bool(key, def))))
	}
}

func askString(key, def string) ask {
	return func(b *configVectors, c *sluice.Config) { b.get("string", key, def, ":", c.String(key, def)) }
}

func askOneOf(key string, allowed ...string) ask {
	return func(b *configVectors, c *sluice.Config) {
		b.get(append(append([]string{"one_of", key}, allowed...), ":", c.OneOf(key, allowed...))...)
	}
}

func text(x int64) string { return fmt.Sprint(x) }

// refusing applies asks as a policy that then returns err.
type refusing struct {
	b    *configVectors
	asks []ask
	err  error
}

func (r refusing) Configure(c *sluice.Config) error {
	for _, a := range r.asks {
		a(r.b, c)
	}
	if r.err != nil {
		r.b.text("refuse", r.err.Error())
	}
	return r.err
}

func (b *configVectors) add(json string, refuse error, asks ...ask) {
	b.text("json", json)
	c, err := sluice.ParseConfig([]byte(json))
	if err == nil {
		err = c.Apply(refusing{b, asks, refuse})
	}
	said := ""
	if err != nil {
		said = err.Error()
	}
	b.text("err", said[:min(len(said), 512)])
}

func (b *configVectors) syntax() {
	for _, json := range []string{
		``, `[]`, `{`, `{}`, ` { } `, `{"a"}`, `{"a":1}`, `{"a":null}`, `{"a":"b"`, `{"a":"b",}`, `{"a":"b"} x`, `{"a":"b","a":"c"}`, `{"a":"b`,
		`{"a":"\x"}`, `{"a":"\`, `{"a":"\u12"}`, `{"a":"\ud800"}`, `{"a":"\ud83d\ude00"}`, `{"a":"\udc00"}`, `{"a":"\ud83dx"}`, `{"a":"\ud83d\u0041"}`,
		"{\"a\":\"\n\"}", "{\"a\":\"\xff\"}", "{\"a\":\"\xc0\x80\"}", "{\"a\":\"\xed\xa0\x80\"}", "{\"a\":\"\xf4\x90\x80\x80\"}", "{\"a\":\"\xc3\"}",
		"{\"a\":\"\xf5\x80\x80\x80\"}", "{\"a\":\"\xc1\xbf\"}", "{\"a\":\"\xe0\x9f\xbf\"}", "{\"a\":\"\xf0\x8f\xbf\xbf\"}", "{\"a\":\"\xf4\x8f\xbf\xbf\"}", "{\"a\":\"\xed\x9f\xbf\"}",
		"{\"a\":\"\xc2\x80\xe0\xa0\x80\xf0\x90\x80\x80\"}", "{\"a\":\"\xe2\x82\"}", "{\"a\":\"\xe2\x82\x41\"}", "{\"a\":\"\x80\"}",
		"\t{\r\n\"a\" : \"b\" , \"c\":\"d\"}\n", `{"a":"\"\\\/\b\f\n\r\t\u0000\u00e9\u20AC"}`, "{\"\u00e9\":\"\u20ac\U0001f600\"}", `{"a":{"b":"c"}}`, `{"":""}`,
		"{\"a\":\"\x7f\"}", "\ufeff{}", `{"a":"b";"c":"d"}`, `{'a':'b'}`, `{"a":"b"}}`, `{,}`, `{"a":}`, `{:"b"}`,
		"{" + numbered(256) + "}", "{" + numbered(257) + "}", `{"` + strings.Repeat("k", 600) + `":"1"}`,
	} {
		b.add(json, nil, askString("a", "none"))
	}
	b.add(`{"x":"1"}`, nil)
	b.add(`{}`, nil)
}

func numbered(n int) string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf(`"k%d":""`, i)
	}
	return strings.Join(list, ",")
}

func (b *configVectors) values() {
	one := func(value string, a ask) { b.add(`{"x":"`+value+`"}`, nil, a) }
	for _, v := range []string{
		"0", "1", "-1", "-0", "8", "007", "+1", "1.0", "", "-", "--1", " 1", "1 ", "0x10", "9223372036854775807", "9223372036854775808", "-9223372036854775807",
		"-9223372036854775808", "256", "257", "99999999999999999999999", "1e3", "\u0663",
	} {
		one(v, askNumber("int", "x", 7, -1, 256))
		one(v, askNumber("int", "x", 7, -math.MaxInt64-1, math.MaxInt64))
	}
	for _, v := range []string{
		"0", "1", "00", "0s", "2s", "500ms", "1.5s", "1m30s", "1h1ns", "1h", "1ms", "999us", "1us", "1ns", "0.1ns", ".5s", "5.s", "1..5s", "1s2", "s", "-2s", "2S", "2 s", "", "24h",
		"25h", "1h1h1h", "2562047h", "2562048h", "9223372036854775807ns", "9223372036854775808ns", "9223372036s854775807ns", "9223372036s854775808ns", "1d", "1.23456789123s",
		"0.0000000001h", "1µs", "1m1m", "99999999999h", "1.5", "1.999999999s", "3600s",
	} {
		one(v, askNumber("duration", "x", 5*sluice.Second, sluice.Millisecond, 24*sluice.Hour))
		one(v, askNumber("duration", "x", 0, 0, math.MaxInt64))
	}
	for _, v := range []string{
		"0", "1", "0.9", "90%", "0.5%", "100%", "101%", "1.000001", "1.0000009", "0.0000001", "0.00001%", "2", "2.000001", "201%", "much", "%", "", "-1", "1.", ".5", "1e1", "50 %", "9223372036854.775807",
		"9223372036855", "922337203685477.5807%", "50%%", "1.2.3", "0.123456789",
	} {
		one(v, askNumber("ratio", "x", sluice.One/2, 0, 2*sluice.One))
		one(v, askNumber("ratio", "x", 0, 1, math.MaxInt64))
	}
	for _, v := range []string{"true", "on", "yes", "1", "false", "off", "no", "0", "True", "", "maybe", "11"} {
		one(v, askBool("x", false))
		one(v, askBool("x", true))
	}
	for _, v := range []string{"soft", "hard", "Hard", "", "softer", "sof", `\"quoted\\`, "\u00e9"} {
		one(v, askOneOf("x", "soft", "hard"))
		one(v, askString("x", "none"))
		one(v, askOneOf("x", "one"))
	}
	for _, bounds := range [][2]int64{{1, 2}, {1_500_000, 90 * sluice.Second}, {60 * sluice.Second, sluice.Hour}, {999, 86_400_000_000_001}, {0, 0}} {
		one("10000h", askNumber("duration", "x", 1, bounds[0], bounds[1]))
		one("10000", askNumber("ratio", "x", 1, bounds[0], bounds[1]))
		one("-10000", askNumber("int", "x", 1, bounds[0], bounds[1]))
	}
}

// several are whole policies' settings.
func (b *configVectors) several() {
	all := []ask{
		askNumber("duration", "age", 10*sluice.Second, sluice.Millisecond, sluice.Hour), askNumber("ratio", "ratio", sluice.One/2, 0, 2*sluice.One),
		askNumber("int", "count", 8, -1, 256), askClasses("wait", sluice.Second, 0, sluice.Hour), askBool("preempt", true),
		askOneOf("mode", "soft", "hard"), askString("name", "none"),
	}
	for _, json := range []string{
		`{}`, `{"age":"1m30s","ratio":"0.9","count":"-1","wait":"2s","wait.0":"500ms","wait.15":"1.5s","preempt":"off","mode":"hard","name":""}`,
		`{"age":"x","count":"y","zzz":""}`, `{"wait.16":"1s"}`, `{"wait.03":"1s","wait.":"1s","wait.-1":"1s"}`, `{"wait.3":"x","wait":"y","wait.4":"2h"}`,
		`{"zzz":"1","aaa":"2","name":"\u0000\"\\"}`, `{"name":"` + strings.Repeat("\u00e9", 300) + `","q":"1"}`, `{"mode":"` + strings.Repeat(`\\`, 300) + `"}`,
		`{"age":"` + strings.Repeat("9", 505) + `"}`, `{"a b\n\"c\"":"1"}`,
	} {
		b.add(json, nil, all...)
		b.add(json, errors.New("age and count do not fit"), all...)
	}
	b.add(`{"x":"1","y":"2"}`, nil, askNumber("int", "x", 0, 0, 9), askNumber("int", "x", 0, 2, 9), askString("x", ""))
}

// random are texts made of what JSON and values are made of.
func (b *configVectors) random(rng *rand.Rand) {
	parts := []string{"{", "}", `"`, `"a"`, ":", ",", `"1s"`, `"a":"1"`, `"b":"2.5s"`, `"c":"50%"`, `\`, `\u00`, "\\n", " ", "x", "\xc3\xa9", "\xe2", `"d":"on"`, `"e":"f"`}
	for range 150 {
		json := ""
		for range rng.IntN(12) {
			json += parts[rng.IntN(len(parts))]
		}
		if rng.IntN(2) == 0 {
			json = "{" + json + "}"
		}
		b.add(json, nil, askNumber("int", "a", 1, 0, 5), askNumber("duration", "b", 1, 0, sluice.Minute), askNumber("ratio", "c", 1, 0, sluice.One), askBool("d", false), askString("e", "-"))
	}
	digits := "0123456789.smhunx%-"
	for range 200 {
		value := ""
		for range 1 + rng.IntN(8) {
			value += string(digits[rng.IntN(len(digits))])
		}
		b.add(`{"x":"`+value+`"}`, nil, []ask{
			askNumber("int", "x", 1, -1000, 1000), askNumber("duration", "x", 1, 0, sluice.Hour), askNumber("ratio", "x", 1, 0, 5*sluice.One),
		}[rng.IntN(3)])
	}
}
