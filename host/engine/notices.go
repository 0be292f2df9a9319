package engine

import (
	"context"
	"log/slog"
	"time"

	"github.com/sluice-dev/sluice/host/sched"
	"github.com/sluice-dev/sluice/plugins/abi"
)

// noticeTexts is what the log says of each kind.
var noticeTexts = map[sched.NoticeKind]string{
	sched.NoticeForced:     "nothing ran while requests waited: one was run against the policies' will",
	sched.NoticeAged:       "a request waited for very long and was run ahead of the policies' order",
	sched.NoticeRejecting:  "requests were rejected and none got a place",
	sched.NoticeInfeasible: "a request can never fit this server",
}

// logNotices says what the scheduler wants an operator to hear. What can never fit is the client's to change, so it is no warning.
func (l *loop) logNotices() {
	for _, n := range l.core.TakeNotices() {
		level, value := slog.LevelWarn, slog.Duration("for", time.Duration(n.Value))
		if n.Kind == sched.NoticeInfeasible {
			level, value = slog.LevelInfo, slog.Int64("prompt_tokens", n.Value)
		}
		attrs := []slog.Attr{slog.String("class", l.e.cfg.className(n.Class)), value, slog.Uint64("times", n.Times)}
		if a := l.live[n.ID]; a != nil {
			attrs = append(attrs, slog.String("request_id", a.req.ID))
		}
		if n.Limit != "" {
			attrs = append(attrs, slog.String("limit", n.Limit))
		}
		if p := l.e.cfg.Policies; p != nil && n.By != abi.Native {
			who := p.Who(n.By)
			attrs = append(attrs, slog.String("policy", who.Policy), slog.String("digest", who.Digest))
		}
		l.e.cfg.Log.LogAttrs(context.Background(), level, noticeTexts[n.Kind], attrs...)
	}
}
