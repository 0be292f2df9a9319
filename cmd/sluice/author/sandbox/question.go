package sandbox

import (
	"strings"

	"github.com/sluice-dev/sluice/plugins"
	"github.com/sluice-dev/sluice/plugins/abi"
)

// Asked is the hooks that a Question can be for, in the order of the ABI.
var Asked = []abi.Hook{abi.HookAdmit, abi.HookPrioritize, abi.HookBatchCap, abi.HookSpeculate, abi.HookEvents}

// Question is one call of one hook.
type Question struct {
	Hook   abi.Hook
	State  abi.State
	Rows   []abi.Row   // of Admit, Prioritize and Speculate; at most abi.MaxRows
	Events []abi.Event // of Events
}

// HookName is a hook's name.
func HookName(h abi.Hook) string { return strings.Join(plugins.HookNames(h), ",") }

// HookNamed is the hook of Asked with that name.
func HookNamed(name string) (abi.Hook, bool) {
	for _, h := range Asked {
		if HookName(h) == name {
			return h, true
		}
	}
	return 0, false
}

// Names lists the names of Asked.
func Names() []string {
	var names []string
	for _, h := range Asked {
		names = append(names, HookName(h))
	}
	return names
}

// SeesRows reports whether a hook is asked about requests.
func SeesRows(h abi.Hook) bool {
	return h&(abi.HookAdmit|abi.HookPrioritize|abi.HookSpeculate) != 0
}
