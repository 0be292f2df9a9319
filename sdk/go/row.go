package sluice

// In reports whether the row is shown in phase p.
func (x *Row) In(p Phase) bool { return x.Phase == uint8(p) }

// ClassIndex is the class as an index into arrays of Classes elements: in range whatever the byte says.
func (x *Row) ClassIndex() int { return int(x.Class & (Classes - 1)) }

// Allow adds a flag to a ranking.
func (x *Ranking) Allow(f RankFlag) { x.Flags |= uint32(f) }
