package plugins

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"maps"
	"sync/atomic"

	"github.com/sluice-dev/sluice/plugins/abi"
)

// version is one module with one configuration under one name.
type version struct {
	name, digest string
	config       map[string]string
	configJSON   []byte
	budget       Budget
	seed         uint64 // of random numbers while it loads; follows from the digest
	module       Module
	hooks        abi.Hook
	reads        abi.Group
	say          func(v *version, level int32, line string)

	id     abi.PolicyID // set when it is first put into a set
	number int          // 1 for the first version of this name

	cur    *guest // owned by the loop while the version is in the current set
	recent window // likewise
	spare  atomic.Pointer[guest]

	quarantined atomic.Bool
	activeSince atomic.Int64
	stats       stats
}

// newVersion identifies a policy. Nothing is compiled yet.
func newVersion(p Policy, b Budget, faultLimit int) (*version, error) {
	sum := sha256.Sum256(p.Wasm)
	v := &version{
		name: p.Name, digest: hex.EncodeToString(sum[:]), config: maps.Clone(p.Config), budget: b,
		seed:   binary.LittleEndian.Uint64(sum[:]),
		recent: window{at: make([]int64, faultLimit)},
	}
	if v.config == nil {
		v.config = map[string]string{}
	}
	var err error
	v.configJSON, err = json.Marshal(v.config) // sorts the keys
	return v, err
}

// takeSpare puts the spare, if there is one, in the place of the instance in use.
func (v *version) takeSpare() *guest {
	if v.cur == nil && !v.quarantined.Load() {
		v.cur = v.spare.Swap(nil)
	}
	return v.cur
}

// keepSpare makes g the spare. Both the keeper and whoever readies a version make spares; the one that comes late is freed.
func (v *version) keepSpare(g *guest) {
	if !v.spare.CompareAndSwap(nil, g) {
		g.close()
	}
}

// close frees everything. No goroutine may be calling the version.
func (v *version) close() {
	v.cur.close()
	v.cur = nil
	v.spare.Swap(nil).close()
	if v.module != nil {
		v.module.Close()
		v.module = nil
	}
}
