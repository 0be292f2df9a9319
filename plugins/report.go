package plugins

import "slices"

// Report is what the preparation of a policy found. The same module, configuration and states give the same report.
type Report struct {
	Digest    string   `json:"digest"`    // sha256 of the module, hex
	ABIMinor  int      `json:"abi_minor"` // that it was built for
	Hooks     []string `json:"hooks"`
	Reads     []string `json:"reads"`   // the groups of fields that it reads
	Imports   []string `json:"imports"` // module.name
	Pages     uint32   `json:"memory_pages"`
	PageLimit uint32   `json:"memory_page_limit"`
	StartFuel int64    `json:"start_fuel"`   // units that its start took
	LoadLimit int64    `json:"start_budget"` // of so many
	Tests     []Tested `json:"tests"`        // in the order of the tests; those of a refused policy end with what it failed
}

// Tested is one hook asked on one state.
type Tested struct {
	Hook    string `json:"hook"`
	State   string `json:"state"` // a made-up one, or a recent one of this server
	Rows    int    `json:"rows"`  // or events
	Fuel    int64  `json:"fuel"`  // units
	Budget  int64  `json:"budget"`
	Outcome string `json:"outcome"` // decided, abstained, or a Fault's name
}

func (r *Report) clone() Report {
	c := *r
	c.Hooks, c.Reads, c.Imports, c.Tests = slices.Clone(r.Hooks), slices.Clone(r.Reads), slices.Clone(r.Imports), slices.Clone(r.Tests)
	return c
}

// started notes what is known of an instance that has just started.
func (r *Report) started(g *guest) {
	r.Pages = g.inst.Size() / pageBytes
	r.StartFuel = g.v.budget.Load - g.inst.Fuel()
}

// described notes what a descriptor says.
func (r *Report) described(lay *layout) {
	r.ABIMinor, r.Hooks, r.Reads = int(lay.minor), HookNames(lay.hooks), GroupNames(lay.reads)
}

// Report is what the preparation found.
func (c *Candidate) Report() Report { return c.v.report.clone() }
