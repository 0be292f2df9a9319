package sluice_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	sluice "github.com/sluice-dev/sluice/sdk/go"
)

// settings is a policy that reads one setting of each kind.
type settings struct {
	age, ratio, count int64
	byClass           [sluice.Classes]int64
	preempt           bool
	mode, name        string
	fail              error
}

func (s *settings) Configure(c *sluice.Config) error {
	s.age = c.Duration("age", 10*sluice.Second, sluice.Millisecond, sluice.Hour)
	s.ratio = c.Ratio("ratio", sluice.One/2, 0, 2*sluice.One)
	s.count = c.Int("count", 8, -1, 256)
	s.byClass = c.ClassDurations("wait", sluice.Second, 0, sluice.Hour)
	s.preempt = c.Bool("preempt", true)
	s.mode = c.OneOf("mode", "soft", "hard")
	s.name = c.String("name", "none")
	return s.fail
}

// What is not set has its default.
func TestConfigDefaults(t *testing.T) {
	var s settings
	if err := sluice.NewConfig(nil).Apply(&s); err != nil {
		t.Fatal(err)
	}
	if s.age != 10*sluice.Second || s.ratio != 500_000 || s.count != 8 || !s.preempt || s.mode != "soft" || s.name != "none" {
		t.Errorf("%+v", s)
	}
	for c, ns := range s.byClass {
		if ns != sluice.Second {
			t.Errorf("class %d: %d", c, ns)
		}
	}
}

func TestConfigValues(t *testing.T) {
	var s settings
	err := sluice.NewConfig(map[string]string{
		"age": "1m30s", "ratio": "0.9", "count": "-1", "wait": "2s", "wait.0": "500ms", "wait.15": "1.5s",
		"preempt": "off", "mode": "hard", "name": "",
	}).Apply(&s)
	if err != nil {
		t.Fatal(err)
	}
	if s.age != 90*sluice.Second || s.ratio != 900_000 || s.count != -1 || s.preempt || s.mode != "hard" || s.name != "" {
		t.Errorf("%+v", s)
	}
	want := slices.Repeat([]int64{2 * sluice.Second}, sluice.Classes)
	want[0], want[15] = 500*sluice.Millisecond, 1500*sluice.Millisecond
	if !slices.Equal(s.byClass[:], want) {
		t.Errorf("by class %v", s.byClass)
	}
}

// An operator who mistypes something reads what, and what would be right.
func TestConfigErrors(t *testing.T) {
	for _, c := range []struct{ key, value, want string }{
		{"age", "2", `age="2": not a duration: write it like 2s, 500ms or 1m30s`},
		{"age", "", `age="": not a duration: write it like 2s, 500ms or 1m30s`},
		{"age", "0", `age="0": must be from 1ms to 1h`},
		{"age", "1h1ns", `age="1h1ns": must be from 1ms to 1h`},
		{"age", "-2s", `age="-2s": not a duration: write it like 2s, 500ms or 1m30s`},
		{"age", "99999999999h", `age="99999999999h": not a duration: write it like 2s, 500ms or 1m30s`},
		{"ratio", "much", `ratio="much": not a ratio: write it like 0.9 or 90%`},
		{"ratio", "201%", `ratio="201%": must be from 0 to 2`},
		{"count", "2.5", `count="2.5": not a whole number`},
		{"count", "257", `count="257": must be from -1 to 256`},
		{"count", "9223372036854775808", `count="9223372036854775808": not a whole number`},
		{"preempt", "maybe", `preempt="maybe": must be true or false`},
		{"mode", "Hard", `mode="Hard": must be one of soft, hard`},
		{"wait.3", "x", `wait.3="x": not a duration: write it like 2s, 500ms or 1m30s`},
		{"wait.16", "1s", `unknown key "wait.16": known are age, ratio, count, wait, wait.<class>, preempt, mode, name`},
		{"wait.03", "1s", `unknown key "wait.03": known are age, ratio, count, wait, wait.<class>, preempt, mode, name`},
	} {
		err := sluice.NewConfig(map[string]string{c.key: c.value}).Apply(&settings{})
		if err == nil || err.Error() != c.want {
			t.Errorf("%s=%s:\ngot  %v\nwant %s", c.key, c.value, err, c.want)
		}
	}
}

// All errors are reported at once, the policy's own among them.
func TestConfigReportsEverything(t *testing.T) {
	err := sluice.NewConfig(map[string]string{"age": "x", "count": "y", "zzz": ""}).Apply(&settings{fail: errors.New("age and count do not fit")})
	for _, want := range []string{`age="x"`, `count="y"`, `unknown key "zzz"`, "age and count do not fit"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v lacks %s", err, want)
		}
	}
}

// A duration reads as Go's own does, to the nanosecond, where both take it.
func TestDurationIsGos(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := time.Duration(rapid.Int64Range(0, 1<<60).Draw(t, "ns")).String()
		if strings.ContainsRune(text, 'µ') {
			text = strings.ReplaceAll(text, "µ", "u")
		}
		want, err := time.ParseDuration(text)
		if err != nil {
			t.Fatal(err)
		}
		c := sluice.NewConfig(map[string]string{"d": text})
		got := c.Duration("d", -1, 0, 1<<62)
		if err := c.Err(); err != nil || got != int64(want) {
			t.Fatalf("%s reads as %d (%v), Go has %d", text, got, err, want)
		}
	})
}

// A ratio keeps its six decimals.
func TestRatioKeepsDecimals(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ppm := rapid.Int64Range(0, 5_000_000).Draw(t, "ppm")
		whole, part := ppm/sluice.One, ppm%sluice.One
		digits := "000000" + itoa(part)
		text := itoa(whole) + "." + digits[len(digits)-6:]
		c := sluice.NewConfig(map[string]string{"r": text})
		if got := c.Ratio("r", -1, 0, 1<<40); got != ppm || c.Err() != nil {
			t.Fatalf("%s reads as %d: %v", text, got, c.Err())
		}
	})
}

func itoa(x int64) string {
	if x < 10 {
		return string(rune('0' + x))
	}
	return itoa(x/10) + itoa(x%10)
}
