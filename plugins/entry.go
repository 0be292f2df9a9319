package plugins

import "github.com/sluice-dev/sluice/plugins/abi"

// Entry is one function of the ABI that a policy may export.
type Entry uint8

// The functions of the ABI.
const (
	EntryMarker Entry = iota
	EntryConfigure
	EntryAdmit
	EntryPrioritize
	EntryBatchCap
	EntrySpeculate
	EntryEvents
	EntrySave
	EntryRestore
	Entries // how many there are
)

var entries = [Entries]struct {
	export        string
	hook          abi.Hook
	param, result string // value types; "" for none
}{
	EntryMarker:     {abi.ExportMarker, 0, "", "i32"},
	EntryConfigure:  {abi.ExportConfigure, abi.HookConfigure, "i32", "i32"},
	EntryAdmit:      {abi.ExportAdmit, abi.HookAdmit, "i32", "i32"},
	EntryPrioritize: {abi.ExportPrioritize, abi.HookPrioritize, "i32", "i32"},
	EntryBatchCap:   {abi.ExportBatchCap, abi.HookBatchCap, "", "i32"},
	EntrySpeculate:  {abi.ExportSpeculate, abi.HookSpeculate, "i32", "i32"},
	EntryEvents:     {abi.ExportEvents, abi.HookEvents, "i32", "i32"},
	EntrySave:       {abi.ExportSave, abi.HookState, "", "i64"},
	EntryRestore:    {abi.ExportRestore, abi.HookState, "i32", "i32"},
}

// String returns the name of the export.
func (e Entry) String() string {
	if e < Entries {
		return entries[e].export
	}
	return "unknown"
}

// Hook is the bit that declares the function in a descriptor; 0 for the marker.
func (e Entry) Hook() abi.Hook { return entries[e].hook }

// TakesLength reports whether the function has a parameter.
func (e Entry) TakesLength() bool { return entries[e].param != "" }

// hookNames are the names of single hooks in metrics, lists and events.
var hookNames = []struct {
	hook abi.Hook
	name string
}{
	{abi.HookConfigure, "configure"}, {abi.HookAdmit, "admit"}, {abi.HookPrioritize, "prioritize"},
	{abi.HookBatchCap, "batch_cap"}, {abi.HookSpeculate, "speculate"}, {abi.HookEvents, "events"}, {abi.HookState, "state"},
}

// HookNames lists the names of the hooks in a set, in the order of the ABI.
func HookNames(set abi.Hook) []string {
	names := []string{}
	for _, h := range hookNames {
		if set.Has(h.hook) {
			names = append(names, h.name)
		}
	}
	return names
}

// hookName is the name of the hook that a function belongs to.
func (e Entry) hookName() string {
	for _, h := range hookNames {
		if h.hook == e.Hook() {
			return h.name
		}
	}
	return "load"
}
