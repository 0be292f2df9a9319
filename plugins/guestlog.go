package plugins

import "bytes"

// The rate of log lines that one instance may write: a burst, and so many for each second of the host's clock.
const (
	logBurst  = 16
	logPerSec = 4
)

// guestLog limits what a guest logs and remembers its last line, which explains a refusal.
type guestLog struct {
	last   [MaxLogBytes]byte
	n      int
	panics bool  // the last line says that the guest is about to end
	tokens int64 // ns of credit
	at     int64
}

const logCost = 1_000_000_000 / logPerSec

// refill gives credit for the time since the last refill; the host's clock, so that a replay logs the same lines.
func (l *guestLog) refill(now int64) {
	if l.at == 0 {
		l.tokens = logBurst * logCost
	} else if now > l.at {
		l.tokens = min(l.tokens+min(now-l.at, logBurst*logCost), logBurst*logCost)
	}
	l.at, l.panics = now, false
}

// take reports whether a line may pass.
func (l *guestLog) take() bool {
	if l.tokens < logCost {
		return false
	}
	l.tokens -= logCost
	return true
}

func (l *guestLog) text() string { return string(l.last[:l.n]) }

// Log implements Sink.
func (g *guest) Log(level int32, line []byte, truncated bool) {
	g.line.n = copy(g.line.last[:], line)
	g.line.panics = bytes.HasPrefix(line, []byte(panicPrefix))
	if truncated {
		g.v.stats.badLines.Add(1)
	}
	if g.quiet {
		return
	}
	if !g.line.take() {
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
