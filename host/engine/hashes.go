package engine

import (
	"encoding/binary"
	"hash/maphash"

	"github.com/sluice-dev/sluice/gpu"
)

// hasher names the KV blocks of a text: each block by a hash over all tokens up to its end, so that two texts that begin alike
// share the names of the blocks that they share. The seed is the process's own: a client cannot make two texts collide.
// See RATIONALE.md for why a hit is compared token by token all the same.
type hasher struct {
	seed  maphash.Seed
	block int  // tokens
	apart bool // tenants share nothing
}

func newHasher(block int, apart bool) *hasher {
	return &hasher{seed: maphash.MakeSeed(), block: block, apart: apart}
}

// root is what a text of the tenant starts from.
func (h *hasher) root(tenant string) uint64 {
	if !h.apart {
		tenant = ""
	}
	return maphash.String(h.seed, tenant)
}

// extend appends the names of the full blocks of history that are not in names yet.
func (h *hasher) extend(names []uint64, root uint64, history []gpu.Token) []uint64 {
	last := root
	if n := len(names); n > 0 {
		last = names[n-1]
	}
	var space [8 + 4*32]byte
	for at := len(names) * h.block; at+h.block <= len(history); at += h.block {
		buf := binary.LittleEndian.AppendUint64(space[:0], last)
		for _, t := range history[at : at+h.block] {
			buf = binary.LittleEndian.AppendUint32(buf, uint32(t))
		}
		last = maphash.Bytes(h.seed, buf)
		names = append(names, last)
	}
	return names
}
