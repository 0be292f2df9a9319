// Package policies holds the policies that ship, each in a folder of its own beside its module, and puts the modules into
// whoever imports it. They are ordinary policies: nothing in them is known to the host.
//
//	for _, m := range policies.Shipped() {
//		chain = append(chain, plugins.Policy{Name: m.Name, Wasm: m.Wasm})
//	}
package policies

import _ "embed" // of the modules

var (
	//go:embed queue-age/queue-age.wasm
	queueAge []byte
	//go:embed class-priority/class-priority.wasm
	classPriority []byte
	//go:embed tpot-cap/tpot-cap.wasm
	tpotCap []byte
	//go:embed spec-off/spec-off.wasm
	specOff []byte
)

// Module is one policy. Its bytes are shared and must not be changed.
type Module struct {
	Name string
	Wasm []byte
}

// Shipped returns the policies in the order in which they are asked.
func Shipped() []Module {
	return []Module{{"queue-age", queueAge}, {"class-priority", classPriority}, {"tpot-cap", tpotCap}, {"spec-off", specOff}}
}
