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
	pages        uint32 // what its memory may grow to, each of 64 KiB
	report       Report
	say          func(v *version, level int32, line string)

	id     abi.PolicyID // set when it is first put into a set
	number int          // 1 for the first version of this name

	// Owned by the loop while the version is in the current set, or beside it.
	cur    *guest
	recent window
	anew   bool    // cur took over from an instance that failed, and did not get its state
	shadow *shadow // that the version is; nil when it decides
	trial  trial
	logs   logCredit

	spare       atomic.Pointer[guest]
	quarantined atomic.Bool
	halfOpen    atomic.Bool  // it decides on trial
	probeAt     atomic.Int64 // while it rests: when it is tried again, on the host's clock
	shadowing   atomic.Bool  // shadow, for other goroutines
	activeSince atomic.Int64
	stats       stats
}

// role says in log lines whose they are.
func (v *version) role() string {
	if v.shadowing.Load() {
		return "shadow"
	}
	return "policy"
}

// newVersion identifies a policy. Nothing is compiled yet.
func newVersion(p Policy, b Budget, faultLimit int) (*version, error) {
	sum := sha256.Sum256(p.Wasm)
	v := &version{
		name: p.Name, digest: hex.EncodeToString(sum[:]), config: maps.Clone(p.Config), budget: b,
		seed:   binary.LittleEndian.Uint64(sum[:]),
		recent: window{at: make([]int64, faultLimit)},
	}
	v.report = Report{Digest: v.digest, Hooks: []string{}, Reads: []string{}, Imports: []string{}, Tests: []Tested{}}
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
