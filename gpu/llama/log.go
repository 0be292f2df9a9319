package llama

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"

	"github.com/ebitengine/purego"
	capi "github.com/hybridgroup/yzma/pkg/llama"
	"golang.org/x/sys/unix"
)

// sink is where llama.cpp's log goes: there is one log callback in a process.
var sink logSink

// logSink turns llama.cpp's pieces of lines into slog records. The library calls it from its own threads, but only
// while it loads, converts or complains: never in a Forward that goes well.
type logSink struct {
	once sync.Once
	cb   uintptr

	mu      sync.Mutex
	log     *slog.Logger
	partial []byte
	level   capi.LogLevel
	taps    []*tap
}

// tap sees every line while it is installed. fn runs with the sink locked.
type tap struct {
	fn func(level capi.LogLevel, line string)
}

// callback is the C function for llama_log_set. It is made once: callbacks are never freed.
func (s *logSink) callback() uintptr {
	s.once.Do(func() {
		s.cb = purego.NewCallback(func(level int32, text *byte, _ uintptr) uintptr {
			s.write(capi.LogLevel(level), unix.BytePtrToString(text))
			return 0
		})
	})
	return s.cb
}

func (s *logSink) setLogger(log *slog.Logger) {
	if log == nil {
		return
	}
	s.mu.Lock()
	s.log = log
	s.mu.Unlock()
}

// listen installs fn until the returned function is called.
func (s *logSink) listen(fn func(capi.LogLevel, string)) (stop func()) {
	t := &tap{fn}
	s.mu.Lock()
	s.taps = append(s.taps, t)
	s.mu.Unlock()
	return func() {
		s.mu.Lock()
		s.taps = slices.DeleteFunc(s.taps, func(x *tap) bool { return x == t })
		s.mu.Unlock()
	}
}

func (s *logSink) write(level capi.LogLevel, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if level != capi.LogLevelContinue {
		s.level = level
	}
	for {
		line, rest, whole := strings.Cut(text, "\n")
		s.partial = append(s.partial, line...)
		if !whole {
			return
		}
		s.emit(strings.TrimRight(string(s.partial), " ."))
		s.partial, text = s.partial[:0], rest
	}
}

func (s *logSink) emit(line string) {
	if strings.TrimSpace(line) == "" {
		return
	}
	for _, t := range s.taps {
		t.fn(s.level, line)
	}
	if s.log != nil && s.log.Enabled(context.Background(), slog.LevelDebug) {
		s.log.Debug(line, "component", "llama.cpp", "llama_level", levelName(s.level))
	}
}

func levelName(l capi.LogLevel) string {
	switch l {
	case capi.LogLevelDebug:
		return "debug"
	case capi.LogLevelInfo:
		return "info"
	case capi.LogLevelWarn:
		return "warn"
	case capi.LogLevelError:
		return "error"
	}
	return "none"
}

// explain runs f and gives the first error line that llama.cpp logged meanwhile, without the C function's name: the
// cause comes first, what failed because of it follows.
func explain(f func()) string {
	var first string
	stop := sink.listen(func(level capi.LogLevel, line string) {
		if level != capi.LogLevelError || first != "" {
			return
		}
		first = strings.TrimSpace(line)
		if name, rest, ok := strings.Cut(first, ": "); ok && !strings.Contains(name, " ") {
			first = rest
		}
	})
	defer stop()
	f()
	return first
}
