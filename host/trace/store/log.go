package store

import (
	"fmt"
	"log/slog"
	"strings"

	"github.com/dgraph-io/badger/v4"
)

// badgerLog passes Badger's messages on. What it calls information is of use to its authors alone.
type badgerLog struct{ log *slog.Logger }

func text(format string, args []any) string {
	return "badger: " + strings.TrimSpace(fmt.Sprintf(format, args...))
}

func (b badgerLog) Errorf(format string, args ...any)   { b.log.Error(text(format, args)) }
func (b badgerLog) Warningf(format string, args ...any) { b.log.Warn(text(format, args)) }
func (b badgerLog) Infof(format string, args ...any)    { b.log.Debug(text(format, args)) }
func (b badgerLog) Debugf(string, ...any)               {}

var _ badger.Logger = badgerLog{}
