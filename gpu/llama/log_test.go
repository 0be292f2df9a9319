package llama

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	capi "github.com/hybridgroup/yzma/pkg/llama"
)

func TestPiecesOfLinesBecomeRecords(t *testing.T) {
	var buf bytes.Buffer
	var s logSink
	s.setLogger(slog.New(slog.NewTextHandler(&buf, &slog.HandlerOptions{Level: slog.LevelDebug})))
	var seen []string
	stop := s.listen(func(_ capi.LogLevel, line string) { seen = append(seen, line) })
	s.write(capi.LogLevelWarn, "half a")
	s.write(capi.LogLevelContinue, " line ... \nsecond\n")
	s.write(capi.LogLevelInfo, "\n")
	stop()
	s.write(capi.LogLevelError, "unseen\n")
	if strings.Join(seen, "|") != "half a line|second" {
		t.Errorf("lines %q", seen)
	}
	for _, want := range []string{`msg="half a line"`, "llama_level=warn", "level=DEBUG", "msg=unseen"} {
		if !strings.Contains(buf.String(), want) {
			t.Errorf("no %s in %s", want, buf.String())
		}
	}
}

func TestLibraryLogsThroughSlog(t *testing.T) {
	var buf bytes.Buffer
	log := slog.New(slog.NewTextHandler(&buf, &slog.HandlerOptions{Level: slog.LevelDebug}))
	d := open(t, func(o *Options) { o.Log = log })
	_ = d.Close()
	sink.setLogger(slog.New(slog.DiscardHandler))
	if !strings.Contains(buf.String(), "component=llama.cpp") || strings.Contains(buf.String(), "level=INFO") {
		t.Errorf("log: %.300s", buf.String())
	}
}
