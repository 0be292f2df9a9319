package store

import (
	"log/slog"
)

// Options configure a Store. The zero value is usable.
type Options struct {
	Log *slog.Logger // what concerns no caller, such as a history that cannot be written yet; nil discards it

	MaxModules      int   // modules kept; 0 = 256
	MaxModuleBytes  int64 // of all of them together; 0 = 1 GiB
	MaxHistoryBytes int64 // of the newest file of history, beside which one older is kept; 0 = 1 MiB
	KeepManifests   int   // sets that stay beside the one in force; 0 = 20

	crash func(point string) // for tests: called wherever the process could end
}

// recentEntries is how many entries of the history keep the modules that they name.
const recentEntries = 64

func (o Options) withDefaults() Options {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.MaxModules <= 0 {
		o.MaxModules = 256
	}
	if o.MaxModuleBytes <= 0 {
		o.MaxModuleBytes = 1 << 30
	}
	if o.MaxHistoryBytes <= 0 {
		o.MaxHistoryBytes = 1 << 20
	}
	if o.KeepManifests <= 0 {
		o.KeepManifests = 20
	}
	return o
}
