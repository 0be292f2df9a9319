package sandbox

import (
	"context"
	"log/slog"
)

// lines keeps what a policy logs, and nothing of what the host does.
type lines struct{ into *[]string }

func (l lines) Enabled(context.Context, slog.Level) bool { return true }
func (l lines) WithAttrs([]slog.Attr) slog.Handler       { return l }
func (l lines) WithGroup(string) slog.Handler            { return l }

func (l lines) Handle(_ context.Context, r slog.Record) error {
	r.Attrs(func(a slog.Attr) bool {
		if a.Key == "source" && a.Value.String() == "policy" {
			*l.into = append(*l.into, r.Message)
		}
		return true
	})
	return nil
}
