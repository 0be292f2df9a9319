package plugins_test

import (
	"bytes"
	"context"
	"log/slog"
	"testing"

	"github.com/sluice-dev/sluice/plugins"
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
