package sluice

// Tenant is what a policy keeps of one tenant. All fields but ID are the policy's to set.
type Tenant struct {
	ID       uint64 // Row.Tenant
	Weight   int64  // 1 at first
	Inflight int64  // requests
	Served   int64  // tokens
	Value    int64  // whatever else
}

// TenantSlots is how many tenants a TenantTable can hold.
const TenantSlots = 256

// TenantTable keeps the tenants that were seen last: a new one takes the place of the one that was not seen for longest. The
// zero value is ready. It has 24 KB: make it a field of the policy.
//
// Its rules, which all SDKs share: Size counts as 1 to TenantSlots, 0 as TenantSlots, and must not change after the first Get.
// Get makes a tenant the last one seen, Find does not. A tenant that comes back after it lost its place begins anew.
type TenantTable struct {
	Size uint16

	slots [TenantSlots]tenantSlot
	used  int
	// Slots are numbered from 1; 0 is none.
	first, last uint16 // seen last, and not seen for longest
	chains      [TenantSlots]uint16
}

type tenantSlot struct {
	t             Tenant
	newer, older  uint16
	nextSameChain uint16
}

// Get returns the tenant of that id, a new one if it is not in the table. It is valid until the next Get of another id.
func (x *TenantTable) Get(id uint64) *Tenant {
	n := x.find(id)
	switch {
	case n != 0:
		x.unlink(n)
	case x.used < x.size():
		x.used++
		n = uint16(x.used)
		x.enter(n, id)
	default:
		n = x.last
		x.unlink(n)
		x.leave(n)
		x.enter(n, id)
	}
	x.pushFront(n)
	return &x.slot(n).t
}

// Find returns the tenant of that id; nil if it is not in the table.
func (x *TenantTable) Find(id uint64) *Tenant {
	if n := x.find(id); n != 0 {
		return &x.slot(n).t
	}
	return nil
}

// Len is how many tenants are in the table.
func (x *TenantTable) Len() int { return x.used }

// At returns a tenant by its place, from 0 to Len()-1. Places follow no order, and a tenant keeps its own while it is in the
// table.
func (x *TenantTable) At(place int) *Tenant { return &x.slots[place].t }

// Weights is the sum of the weights of all tenants with something in flight, each at least 1 and at most 2^20.
func (x *TenantTable) Weights() (sum int64) {
	for i := range x.slots[:x.used] {
		if t := &x.slots[i].t; t.Inflight > 0 {
			sum += clampWeight(t.Weight)
		}
	}
	return sum
}

// FairShare is the part of total that a weight among the sum weights is due, rounded down and at least 1. total is clamped to 0
// and 2^40, weight to 1 and 2^20, and weights to weight and 2^40.
func FairShare(total, weight, weights int64) int64 {
	const most = 1 << 40
	total, weight = min(max(total, 0), most), clampWeight(weight)
	return max(total*weight/min(max(weights, weight), most), 1)
}

func clampWeight(w int64) int64 { return min(max(w, 1), 1<<20) }

func (x *TenantTable) size() int {
	if x.Size == 0 {
		return TenantSlots
	}
	return min(int(x.Size), TenantSlots)
}

func (x *TenantTable) slot(n uint16) *tenantSlot { return &x.slots[(n-1)%TenantSlots] }

// chain is where a tenant's slot is looked for. Ids are hashes already: the multiplication is for tests that count from 1.
func (x *TenantTable) chain(id uint64) *uint16 { return &x.chains[id*0x9e3779b97f4a7c15>>56] }

func (x *TenantTable) find(id uint64) uint16 {
	n := *x.chain(id)
	for n != 0 && x.slot(n).t.ID != id {
		n = x.slot(n).nextSameChain
	}
	return n
}

func (x *TenantTable) enter(n uint16, id uint64) {
	head := x.chain(id)
	*x.slot(n) = tenantSlot{t: Tenant{ID: id, Weight: 1}, nextSameChain: *head}
	*head = n
}

func (x *TenantTable) leave(n uint16) {
	at := x.chain(x.slot(n).t.ID)
	for *at != n {
		at = &x.slot(*at).nextSameChain
	}
	*at = x.slot(n).nextSameChain
}

func (x *TenantTable) unlink(n uint16) {
	s := x.slot(n)
	if s.newer == 0 {
		x.first = s.older
	} else {
		x.slot(s.newer).older = s.older
	}
	if s.older == 0 {
		x.last = s.newer
	} else {
		x.slot(s.older).newer = s.newer
	}
}

func (x *TenantTable) pushFront(n uint16) {
	s := x.slot(n)
	s.newer, s.older = 0, x.first
	if x.first == 0 {
		x.last = n
	} else {
		x.slot(x.first).newer = n
	}
	x.first = n
}
