package metrics

import "github.com/sluice-dev/sluice/plugins/abi"

// reasons are those that the host knows; a policy's own numbers have no name.
var reasons = func() map[string]bool {
	known := map[string]bool{}
	for r := abi.ReasonNone; r.String() != "unknown"; r++ {
		known[r.String()] = true
	}
	return known
}()

// reason bounds a label: policies may give any number as a reason.
func reason(name string) string {
	if reasons[name] {
		return name
	}
	return other
}
