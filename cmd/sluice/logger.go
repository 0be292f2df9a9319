package main

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/lmittmann/tint"
	"github.com/sluice-dev/sluice/cmd/sluice/config"
)

// newLogger writes text for people when w is a terminal, else JSON lines. The level may be changed later.
func newLogger(t terminal, c config.Log) (*slog.Logger, *slog.LevelVar, error) {
	level := new(slog.LevelVar)
	if err := level.UnmarshalText([]byte(c.Level)); err != nil {
		return nil, nil, fmt.Errorf("set log level: %w", err)
	}
	text := c.Format == "text" || (c.Format == "auto" && isTerminal(t.err))
	if !text {
		return slog.New(slog.NewJSONHandler(t.err, &slog.HandlerOptions{Level: level})), level, nil
	}
	return slog.New(tint.NewHandler(t.err, &tint.Options{Level: level, TimeFormat: time.TimeOnly, NoColor: !colour(t)})), level, nil
}

// colour is for terminals only, and NO_COLOR turns it off by its mere presence.
func colour(t terminal) bool {
	_, off := t.env("NO_COLOR")
	return !off && t.getenv("TERM") != "dumb" && isTerminal(t.err)
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
