package sched

// maxTenants bounds the table of tenants; idle ones are forgotten, oldest first.
const maxTenants = 1024

type tenant struct {
	waiting, running    int
	servedIn, servedOut uint64
}

// tenantTable counts by tenant in bounded memory. Only tenants with nothing in flight are ever forgotten.
type tenantTable struct {
	byHash map[uint64]*tenant
	order  []uint64 // in the order of their first request
}

func newTenantTable() tenantTable { return tenantTable{byHash: map[uint64]*tenant{}} }

func (t *tenantTable) get(hash uint64) *tenant {
	if x := t.byHash[hash]; x != nil {
		return x
	}
	if len(t.order) >= maxTenants {
		t.forgetIdle()
	}
	x := &tenant{}
	t.byHash[hash] = x
	t.order = append(t.order, hash)
	return x
}

func (t *tenantTable) forgetIdle() {
	kept := t.order[:0]
	drop := len(t.order) / 4
	for _, hash := range t.order {
		x := t.byHash[hash]
		if drop > 0 && x.waiting == 0 && x.running == 0 {
			delete(t.byHash, hash)
			drop--
			continue
		}
		kept = append(kept, hash)
	}
	t.order = kept
}
