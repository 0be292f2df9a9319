/// What a policy keeps of one tenant. All fields but `id` are the policy's to set.
#[derive(Clone, Copy)]
pub struct Tenant {
    /// As in [`Row::tenant`](crate::Row::tenant).
    pub id: u64,
    /// 1 at first.
    pub weight: i64,
    /// Requests.
    pub inflight: i64,
    /// Tokens.
    pub served: i64,
    /// Whatever else.
    pub value: i64,
}

/// How many tenants a [`TenantTable`] can hold.
pub const TENANT_SLOTS: usize = 256;

/// Keeps the tenants that were seen last: a new one takes the place of the one that was not seen for longest. It has 13 KB.
///
/// The rules, which all SDKs share: the size counts as 1 to [`TENANT_SLOTS`], 0 as [`TENANT_SLOTS`]. `get` makes a tenant the
/// last one seen, `find` does not. A tenant that comes back after it lost its place begins anew.
///
/// ```
/// # use sluice_policy::*;
/// let mut tenants = TenantTable::new(2);
/// tenants.get(7).served += 100;
/// tenants.get(8).inflight += 1;
/// tenants.get(7).inflight += 1;
/// assert_eq!(tenants.weights(), 2);
/// assert_eq!(fair_share(24, 1, tenants.weights()), 12);
/// tenants.get(9); // in the place of 8
/// assert!(tenants.find(8).is_none());
/// assert_eq!(tenants.find(7).map(|t| t.served), Some(100));
/// ```
#[derive(Clone, Copy)]
pub struct TenantTable {
    size: usize,
    slots: [Slot; TENANT_SLOTS],
    used: usize,
    // Slots are numbered from 1; 0 is none.
    first: u16, // seen last
    last: u16,  // not seen for longest
    chains: [u16; TENANT_SLOTS],
}

#[derive(Clone, Copy)]
struct Slot {
    t: Tenant,
    newer: u16,
    older: u16,
    next: u16, // of the same chain
}

const EMPTY: Slot = Slot {
    t: Tenant {
        id: 0,
        weight: 0,
        inflight: 0,
        served: 0,
        value: 0,
    },
    newer: 0,
    older: 0,
    next: 0,
};

impl TenantTable {
    /// A table of that many places.
    pub const fn new(size: u16) -> TenantTable {
        let size = if size == 0 || size as usize > TENANT_SLOTS {
            TENANT_SLOTS
        } else {
            size as usize
        };
        TenantTable {
            size,
            slots: [EMPTY; TENANT_SLOTS],
            used: 0,
            first: 0,
            last: 0,
            chains: [0; TENANT_SLOTS],
        }
    }

    /// The tenant of that id, a new one if it is not in the table.
    pub fn get(&mut self, id: u64) -> &mut Tenant {
        let mut n = self.number(id);
        if n != 0 {
            self.unlink(n);
        } else if self.used < self.size {
            self.used += 1;
            n = self.used as u16;
            self.enter(n, id);
        } else {
            n = self.last;
            self.unlink(n);
            self.leave(n);
            self.enter(n, id);
        }
        self.push_front(n);
        &mut self.slot(n).t
    }

    /// The tenant of that id, if it is in the table.
    pub fn find(&mut self, id: u64) -> Option<&mut Tenant> {
        match self.number(id) {
            0 => None,
            n => Some(&mut self.slot(n).t),
        }
    }

    /// All tenants in the table, in no order, though a tenant keeps its place while it is there.
    pub fn iter(&self) -> impl Iterator<Item = &Tenant> {
        self.slots[..self.used].iter().map(|s| &s.t)
    }

    /// How many tenants are in the table.
    pub fn len(&self) -> usize {
        self.used
    }

    /// Reports whether the table holds nobody.
    pub fn is_empty(&self) -> bool {
        self.used == 0
    }

    /// The sum of the weights of all tenants with something in flight, each at least 1 and at most 2^20.
    pub fn weights(&self) -> i64 {
        self.iter()
            .filter(|t| t.inflight > 0)
            .map(|t| clamp_weight(t.weight))
            .sum()
    }

    fn slot(&mut self, n: u16) -> &mut Slot {
        &mut self.slots[(n as usize).wrapping_sub(1) % TENANT_SLOTS]
    }

    fn number(&self, id: u64) -> u16 {
        let mut n = self.chains[chain(id)];
        while n != 0 {
            let s = &self.slots[(n as usize - 1) % TENANT_SLOTS];
            if s.t.id == id {
                break;
            }
            n = s.next;
        }
        n
    }

    fn enter(&mut self, n: u16, id: u64) {
        let next = self.chains[chain(id)];
        *self.slot(n) = Slot {
            t: Tenant {
                id,
                weight: 1,
                inflight: 0,
                served: 0,
                value: 0,
            },
            newer: 0,
            older: 0,
            next,
        };
        self.chains[chain(id)] = n;
    }

    fn leave(&mut self, n: u16) {
        let (c, next) = (chain(self.slot(n).t.id), self.slot(n).next);
        if self.chains[c] == n {
            self.chains[c] = next;
            return;
        }
        let mut at = self.chains[c];
        while self.slot(at).next != n {
            at = self.slot(at).next;
        }
        self.slot(at).next = next;
    }

    fn unlink(&mut self, n: u16) {
        let (newer, older) = (self.slot(n).newer, self.slot(n).older);
        if newer == 0 {
            self.first = older;
        } else {
            self.slot(newer).older = older;
        }
        if older == 0 {
            self.last = newer;
        } else {
            self.slot(older).newer = newer;
        }
    }

    fn push_front(&mut self, n: u16) {
        let first = self.first;
        let s = self.slot(n);
        s.newer = 0;
        s.older = first;
        if first == 0 {
            self.last = n;
        } else {
            self.slot(first).newer = n;
        }
        self.first = n;
    }
}

/// Where a tenant's slot is looked for. Ids are hashes already: the multiplication is for tests that count from 1.
fn chain(id: u64) -> usize {
    (id.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as usize
}

fn clamp_weight(w: i64) -> i64 {
    w.clamp(1, 1 << 20)
}

/// The part of `total` that a weight among the sum `weights` is due, rounded down and at least 1. `total` is clamped to 0 and
/// 2^40, `weight` to 1 and 2^20, and `weights` to `weight` and 2^40.
pub fn fair_share(total: i64, weight: i64, weights: i64) -> i64 {
    const MOST: i64 = 1 << 40;
    let (total, weight) = (total.clamp(0, MOST), clamp_weight(weight));
    (total * weight / weights.max(weight).min(MOST)).max(1)
}
