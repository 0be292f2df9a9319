package meter

import "fmt"

// Limits bound what a module may ask of the host before it runs. Start from DefaultLimits: a zero field allows nothing.
type Limits struct {
	MaxBytes         int // the binary as given; the rewritten code may have twice as many, and usually has 1.05 times the original's
	MaxTypes         int // function types
	MaxParams        int // parameters, and results, of one type
	MaxImports       int
	MaxFunctions     int // imported and defined
	MaxTables        int
	MaxTableElements int // of each table; a table without a maximum, or with a larger one, gets this as its maximum
	MaxGlobals       int // imported and defined
	MaxExports       int
	MaxSegments      int // element segments, and data segments
	MaxLocals        int // of one function, parameters included
	MaxModuleLocals  int // of all functions together: a few bytes can declare millions
	MaxNesting       int // blocks inside each other
	MaxWork          int // us that one function may take to compile, estimated from its shape: more than it was seen to take in any
	MaxModuleWork    int // the same of all functions together
	MaxEntryUnits    int // charged at one function's entry: bounds its frame, which is allocated before the charge

	// MaxMemoryPages is the memory's largest size in pages of 64 KiB, 65,536 at most. A memory without a maximum, or with
	// a larger one, gets this as its maximum; one that starts larger is refused.
	MaxMemoryPages uint32

	// StartFuel is the counter's value at instantiation, in units: what a start function may spend.
	StartFuel int64
}

const (
	maxPages    = 1 << 16 // what 32-bit addresses reach
	maxElements = 1 << 27 // what runtimes accept
)

// DefaultLimits suit a policy compiled by the ordinary Go toolchain, with room to spare.
func DefaultLimits() Limits {
	return Limits{
		MaxBytes:         16 << 20,
		MaxTypes:         1 << 14,
		MaxParams:        1000,
		MaxImports:       1 << 10,
		MaxFunctions:     1 << 16,
		MaxTables:        16,
		MaxTableElements: 1 << 16,
		MaxGlobals:       1 << 12,
		MaxExports:       1 << 12,
		MaxSegments:      1 << 18, // Go's linker makes one of every few words of data
		MaxLocals:        10_000,
		MaxModuleLocals:  1 << 22,
		MaxNesting:       1 << 14,
		MaxWork:          500_000,   // a Go guest with fmt and encoding/json has 253,000 in its largest function
		MaxModuleWork:    9_000_000, // and 5,600,000 in all; the worst that is let in was measured at 4.2 s, in 410 MB
		MaxEntryUnits:    1 << 20,
		MaxMemoryPages:   512,
		StartFuel:        64 << 20,
	}
}

// check refuses limits that no module could be rewritten under correctly: a mistake of the caller.
func (l *Limits) check() error {
	if l.MaxMemoryPages > maxPages {
		return fmt.Errorf("check limits: MaxMemoryPages is %d, more than the %d that a memory can have", l.MaxMemoryPages, maxPages)
	}
	if l.MaxTableElements < 0 || l.MaxTableElements > maxElements {
		return fmt.Errorf("check limits: MaxTableElements is %d, but must be from 0 to %d", l.MaxTableElements, maxElements)
	}
	if l.StartFuel < 0 {
		return fmt.Errorf("check limits: StartFuel is %d, but must not be negative", l.StartFuel)
	}
	return nil
}
