package sluice

// Level is how much a log line matters.
type Level int32

// The levels.
const (
	LevelDebug Level = -1
	LevelInfo  Level = 0
	LevelWarn  Level = 1
	LevelError Level = 2
)

// maxLine is the longest line that the host takes, in bytes.
const maxLine = 512

// line gathers a log line. What does not fit is cut off.
type line struct {
	buf [maxLine]byte
	n   int
}

// scratch is shared by all lines: a policy has one goroutine.
var scratch line

// Logf writes a line to the server's log, at the level info. The host lets a few lines a second pass and counts the rest.
//
// It knows the verbs %v, %s, %d, %q and %%, without flags, for strings, byte slices, booleans and integers of every size; of
// an error pass err.Error(). It does not allocate, unlike package fmt, which would also double the module's size.
func Logf(format string, args ...any) { logf(LevelInfo, format, args) }

// Warnf is Logf at the level warn.
func Warnf(format string, args ...any) { logf(LevelWarn, format, args) }

// Debugf is Logf at the level debug.
func Debugf(format string, args ...any) { logf(LevelDebug, format, args) }

// Metric publishes a number under an id from 0 to 31; `sluice policy ls --json` and the metrics page show the last one.
func Metric(id uint32, value int64) { hostMetric(id, value) }

func logf(level Level, format string, args []any) {
	scratch.n = 0
	scratch.format(format, args)
	hostLog(level, scratch.buf[:scratch.n])
}

func logText(level Level, text string) {
	scratch.n = 0
	scratch.text(text)
	hostLog(level, scratch.buf[:scratch.n])
}

func (l *line) format(format string, args []any) {
	next := 0
	for i := 0; i < len(format); i++ {
		if format[i] != '%' || i+1 == len(format) {
			l.byte(format[i])
			continue
		}
		i++
		switch verb := format[i]; {
		case verb == '%':
			l.byte('%')
		case next == len(args):
			l.text("%!(MISSING)")
		default:
			l.value(args[next], verb == 'q')
			next++
		}
	}
	if next < len(args) {
		l.text("%!(EXTRA)")
	}
}

// value writes one argument. It calls no method of it: an interface's method would make every argument escape to the heap.
func (l *line) value(x any, quote bool) {
	switch x := x.(type) {
	case string:
		if quote {
			l.quoted(x)
		} else {
			l.text(x)
		}
	case []byte:
		for _, c := range x {
			l.byte(c)
		}
	case bool:
		if x {
			l.text("true")
		} else {
			l.text("false")
		}
	default:
		l.number(x)
	}
}

func (l *line) number(x any) {
	switch x := x.(type) {
	case int:
		l.signed(int64(x))
	case int8:
		l.signed(int64(x))
	case int16:
		l.signed(int64(x))
	case int32:
		l.signed(int64(x))
	case int64:
		l.signed(x)
	case uint:
		l.unsigned(uint64(x))
	case uint8:
		l.unsigned(uint64(x))
	case uint16:
		l.unsigned(uint64(x))
	case uint32:
		l.unsigned(uint64(x))
	case uint64:
		l.unsigned(x)
	default:
		l.text("%!(UNSUPPORTED)")
	}
}

func (l *line) byte(c byte) {
	if l.n < len(l.buf) {
		l.buf[l.n] = c
		l.n++
	}
}

func (l *line) text(s string) { l.n += copy(l.buf[l.n:], s) }

func (l *line) quoted(s string) {
	l.byte('"')
	for i := 0; i < len(s); i++ {
		if s[i] == '"' || s[i] == '\\' {
			l.byte('\\')
		}
		l.byte(s[i])
	}
	l.byte('"')
}

func (l *line) signed(x int64) {
	if x < 0 {
		l.byte('-')
		l.unsigned(-uint64(x))
		return
	}
	l.unsigned(uint64(x))
}

func (l *line) unsigned(x uint64) {
	var buf [20]byte
	l.n += copy(l.buf[l.n:], digits(&buf, x))
}

// digits writes x in decimal at the end of buf.
func digits(buf *[20]byte, x uint64) []byte {
	i := len(buf)
	for {
		i--
		buf[i] = byte('0' + x%10)
		if x /= 10; x == 0 {
			return buf[i:]
		}
	}
}
