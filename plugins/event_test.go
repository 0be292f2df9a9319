package plugins_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"

	"github.com/sluice-dev/sluice/plugins"
	"github.com/sluice-dev/sluice/plugins/internal/guesttest"
)

// A refusal is the answer to whoever pushed: it is returned and not logged, or it would be reported twice.
func TestARefusalIsReturnedAndNotLogged(t *testing.T) {
	var log bytes.Buffer
	r := newRig(t, plugins.Options{Log: slog.New(slog.NewTextHandler(&log, nil)), Inline: true})
	if r.Push(context.Background(), "p", []byte("nonsense"), nil) == nil {
		t.Fatal("nonsense was taken")
	}
	if len(r.events(plugins.EventRefused)) != 1 {
		t.Error("OnEvent did not hear of the refusal")
	}
	if log.Len() > 0 {
		t.Errorf("logged as well: %s", log.String())
	}
}

// A listener that does not return must not block the loop; that something went unsaid is said once it returns.
func TestWhatTheLogCouldNotKeepUpWithIsSaid(t *testing.T) {
	var log bytes.Buffer
	gate := make(chan struct{})
	r := newRig(t, plugins.Options{
		Log:     slog.New(slog.NewTextHandler(&log, nil)),
		OnEvent: func(plugins.Event) { <-gate },
	})
	r.before("p", talker(16, guesttest.Free, 100))
	for range 40 { // 16 lines a call, far more than wait
		r.now += 100_000_000_000
		r.admit(armed, 1)
	}
	close(gate)
	r.Close()
	if !strings.Contains(log.String(), "dropped=") {
		t.Error("no word of the lines that were dropped")
	}
}
