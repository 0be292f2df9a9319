package plugins

import "bytes"

// The rate of log lines that one version may write: a burst, and so many for each second of the host's clock. It is not each
// instance's: a guest that fails, or grows until it is replaced, would begin with a burst every time.
const (
	logBurst  = 16
	logPerSec = 4
)

// lastLine remembers what a guest logged last, which explains a refusal.
type lastLine struct {
	text   [MaxLogBytes]byte
	n      int
	panics bool // it says that the guest is about to end
}

func (l *lastLine) String() string { return string(l.text[:l.n]) }

// logCredit limits what a version logs. It is whose the version's instance in use is: the others are quiet.
type logCredit struct {
	tokens int64 // ns
	at     int64
}

const logCost = 1_000_000_000 / logPerSec

// refill gives credit for the time since the last refill; the host's clock, so that a replay logs the same lines.
func (l *logCredit) refill(now int64) {
	if l.at == 0 {
		l.tokens = logBurst * logCost
	} else if now > l.at {
		l.tokens = min(l.tokens+min(now-l.at, logBurst*logCost), logBurst*logCost)
	}
	l.at = now
}

// take reports whether a line may pass.
func (l *logCredit) take() bool {
	if l.tokens < logCost {
		return false
	}
	l.tokens -= logCost
	return true
}

// Log implements Sink.
func (g *guest) Log(level int32, line []byte, truncated bool) {
	g.last.n = copy(g.last.text[:], line)
	g.last.panics = bytes.HasPrefix(line, []byte(panicPrefix))
	if truncated {
		g.v.stats.badLines.Add(1)
	}
	if g.quiet {
		return
	}
	if !g.v.logs.take() {
		g.v.stats.logLost.Add(1)
		return
	}
	g.v.stats.logLines.Add(1)
	g.v.say(g.v, level, string(line))
}

// Metric implements Sink.
func (g *guest) Metric(id uint32, value int64) {
	if id >= Metrics {
		g.BadCall()
		return
	}
	g.v.stats.metrics[id].Store(value)
	if bit := uint32(1) << id; g.v.stats.published.Load()&bit == 0 {
		g.v.stats.published.Or(bit)
	}
}

// BadCall implements Sink.
func (g *guest) BadCall() { g.v.stats.badCalls.Add(1) }

var _ Sink = (*guest)(nil)
