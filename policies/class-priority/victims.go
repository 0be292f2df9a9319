package main

import sluice "github.com/sluice-dev/sluice/sdk/go"

// victims is, for each class, the worst level among the running requests of less important classes that may lose their
// places.
type victims [sluice.Classes]int64

func (v *victims) begin() {
	for c := range v {
		v[c] = minLevel
	}
}

// add takes a running request; end must follow the last one.
func (v *victims) add(class int, level int64) { v[class] = max(v[class], level) }

// end turns the worst level of each class into that of the classes below it.
func (v *victims) end() {
	worst := int64(minLevel)
	for c := len(v) - 1; c >= 0; c-- {
		v[c], worst = worst, max(worst, v[c])
	}
}

// of reports whether a waiting request has a victim: one of a less important class and of a worse level.
func (v *victims) of(class int, level int64) bool { return v[class] > level }
