package main

import (
	"encoding/binary"
	"errors"
)

var (
	errFloor = errors.New("ceiling must not be below floor")
	errState = errors.New("the saved state is not one of tpot-cap's version 1")
)

// The saved state: a version, the cap, and the step of the last decision.
const (
	stateVersion = 1
	stateSize    = 1 + 4 + 8
)

// Save implements sluice.StateSaver.
func (p *policy) Save(to []byte) []byte {
	if p.cap == 0 {
		return to
	}
	to = append(to, stateVersion)
	to = binary.LittleEndian.AppendUint32(to, p.cap)
	return binary.LittleEndian.AppendUint64(to, p.judged)
}

// Restore implements sluice.StateSaver. The cap is brought into this version's bounds at the next step.
func (p *policy) Restore(from []byte) error {
	if len(from) != stateSize || from[0] != stateVersion {
		return errState
	}
	p.cap = binary.LittleEndian.Uint32(from[1:])
	p.judged = binary.LittleEndian.Uint64(from[5:])
	p.settled = p.judged + p.settle
	return nil
}
