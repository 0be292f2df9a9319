package sluice

// The text forms of configuration values. They are integers from end to end: package strconv and package time would add
// 40 KB and 270 KB to every module, and time four more functions for the host to provide.

const maxInt = 1<<63 - 1

var units = []struct {
	name string
	ns   int64
}{{"h", Hour}, {"m", Minute}, {"s", Second}, {"ms", Millisecond}, {"us", 1000}, {"ns", 1}}

func parseInt(s string) (int64, string) {
	const why = "not a whole number"
	negative := len(s) > 0 && s[0] == '-'
	if negative {
		s = s[1:]
	}
	x, rest, ok := leadingInt(s)
	if !ok || rest != "" {
		return 0, why
	}
	if negative {
		return -x, ""
	}
	return x, ""
}

func parseDuration(s string) (int64, string) {
	const why = "not a duration: write it like 2s, 500ms or 1m30s"
	if s == "0" {
		return 0, ""
	}
	if s == "" {
		return 0, why
	}
	sum := int64(0)
	for s != "" {
		num, rest := span(s, isDecimal)
		unit, rest := span(rest, isLetter)
		ns := int64(0)
		for _, u := range units {
			if u.name == unit {
				ns = u.ns
			}
		}
		x, ok := scaled(num, ns)
		if ns == 0 || !ok || sum > maxInt-x {
			return 0, why
		}
		sum += x
		s = rest
	}
	return sum, ""
}

func parseRatio(s string) (int64, string) {
	unit := int64(One)
	if n := len(s); n > 0 && s[n-1] == '%' {
		s, unit = s[:n-1], One/100
	}
	x, ok := scaled(s, unit)
	if !ok {
		return 0, "not a ratio: write it like 0.9 or 90%"
	}
	return x, ""
}

// scaled reads a decimal such as 1.25 and returns it times unit, cut off below 1.
func scaled(s string, unit int64) (x int64, ok bool) {
	whole, rest, ok := leadingInt(s)
	if !ok || unit <= 0 || whole > maxInt/unit {
		return 0, false
	}
	x = whole * unit
	if rest == "" {
		return x, true
	}
	if rest[0] != '.' || len(rest) == 1 {
		return 0, false
	}
	// Each digit has a tenth of the unit's remaining part, so that nothing overflows. What divides no further is dropped.
	part := unit
	for _, c := range []byte(rest[1:]) {
		if c < '0' || c > '9' {
			return 0, false
		}
		part /= 10
		x += int64(c-'0') * part
	}
	return x, x >= 0
}

func leadingInt(s string) (x int64, rest string, ok bool) {
	i := 0
	for i < len(s) && s[i] >= '0' && s[i] <= '9' {
		d := int64(s[i] - '0')
		if x > (maxInt-d)/10 {
			return 0, s, false
		}
		x = x*10 + d
		i++
	}
	return x, s[i:], i > 0
}

func span(s string, in func(byte) bool) (head, rest string) {
	i := 0
	for i < len(s) && in(s[i]) {
		i++
	}
	return s[:i], s[i:]
}

func isDecimal(c byte) bool { return c == '.' || c >= '0' && c <= '9' }
func isLetter(c byte) bool  { return c >= 'a' && c <= 'z' }

func formatInt(x int64) string {
	var l line
	l.signed(x)
	return string(l.buf[:l.n])
}

// formatDuration uses the largest unit that leaves a whole number.
func formatDuration(ns int64) string {
	for _, u := range units {
		if ns != 0 && ns%u.ns == 0 {
			return formatInt(ns/u.ns) + u.name
		}
	}
	return formatInt(ns)
}

func formatRatio(ppm int64) string {
	text := formatInt(ppm / One)
	if f := ppm % One; f > 0 {
		digits := formatInt(One + f)[1:]
		for digits[len(digits)-1] == '0' {
			digits = digits[:len(digits)-1]
		}
		text += "." + digits
	}
	return text
}
