package engine

import (
	"bytes"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
	"time"

	"github.com/sluice-dev/sluice/host/sched"
)

// Relief is one way to need less memory.
type Relief uint8

// What may be given up, by how much it costs those who are served.
const (
	ReliefCache  Relief = iota + 1 // prefixes that nothing runs on
	ReliefSaved                    // KV kept outside the device, of preempted requests and of prefixes: it is computed again
	ReliefBatch                    // half of the places
	ReliefRefuse                   // new requests: 503
)

var reliefNames = map[Relief]string{
	ReliefCache: "drop cached prefixes", ReliefSaved: "drop saved KV", ReliefBatch: "halve the batch", ReliefRefuse: "refuse new requests",
}

// String is the relief in words.
func (r Relief) String() string { return reliefNames[r] }

// Memory is how the engine gives way when memory runs short. The zero value never does.
type Memory struct {
	Limit int64         // bytes that may be in use; 0 = no limit
	Read  func() int64  // bytes in use; called by the loop's goroutine, it must not block. nil = ResidentBytes
	Order []Relief      // what is given up, one after the other; nil = in the order of the constants
	Every time.Duration // between two readings; 0 = 250 ms
}

// One more relief is applied at a reading above the one share of the limit, and the last one is taken back below the other.
const (
	memoryHigh = 0.95
	memoryLow  = 0.85
)

func (m *Memory) fill() {
	if m.Read == nil {
		m.Read = ResidentBytes
	}
	if m.Order == nil {
		m.Order = []Relief{ReliefCache, ReliefSaved, ReliefBatch, ReliefRefuse}
	}
	if m.Every <= 0 {
		m.Every = 250 * time.Millisecond
	}
}

// memory is how far the engine has given way.
type memory struct {
	level int   // of Order; what comes before it is applied
	next  int64 // time of the next reading
}

// watch takes a reading when one is due.
func (m *memory) watch(now int64, l *loop) {
	cfg := &l.e.cfg.Memory
	if cfg.Limit <= 0 || now < m.next {
		return
	}
	m.next = now + int64(cfg.Every)
	used := cfg.Read()
	share := float64(used) / float64(cfg.Limit)
	log := l.e.cfg.Log.With("used", used, "limit", cfg.Limit)
	switch {
	case share > memoryHigh && m.level < len(cfg.Order):
		log.Warn("memory runs short", "relief", cfg.Order[m.level].String())
		m.level++
		go debug.FreeOSMemory() // what is dropped helps once the system has it
	case share < memoryLow && m.level > 0:
		m.level--
		log.Info("memory is back", "relief_ended", cfg.Order[m.level].String())
	}
}

// pressure is what the level means to the scheduler.
func (m *memory) pressure(l *loop) (p sched.Pressure) {
	for _, r := range l.e.cfg.Memory.Order[:m.level] {
		switch r {
		case ReliefCache:
			p.NoCache = true
		case ReliefSaved:
			p.NoSaved = true
		case ReliefBatch:
			p.MaxSeqs = max(1, l.e.cfg.Sched.MaxSeqs/2)
		case ReliefRefuse:
			p.Refuse = true
		}
	}
	return p
}

// ResidentBytes is the process's resident memory: from /proc where there is one, else what the Go runtime got from the system.
func ResidentBytes() int64 {
	if text, err := os.ReadFile("/proc/self/statm"); err == nil {
		if f := bytes.Fields(text); len(f) > 1 {
			if pages, err := strconv.ParseInt(string(f[1]), 10, 64); err == nil {
				return pages * int64(os.Getpagesize())
			}
		}
	}
	s := []metrics.Sample{{Name: "/memory/classes/total:bytes"}}
	metrics.Read(s)
	return int64(s[0].Value.Uint64())
}
