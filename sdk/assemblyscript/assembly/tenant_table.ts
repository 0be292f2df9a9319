import { clamp } from "./clamp";

/** How many tenants a TenantTable can hold. */
export const TENANT_SLOTS: i32 = 256;

const MAX_WEIGHT: i64 = 1 << 20;
const MAX_TOTAL: i64 = 1 << 40;

/** What a policy keeps of one tenant. All fields but id are the policy's to set. */
export class Tenant {
  /** Row.tenant */
  id: u64 = 0;
  /** 1 at first */
  weight: i64 = 1;
  /** requests */
  inflight: i64 = 0;
  /** tokens */
  served: i64 = 0;
  /** whatever else */
  value: i64 = 0;

  /** For the SDK: begins anew for another tenant. */
  begin(id: u64): void {
    this.id = id;
    this.weight = 1;
    this.inflight = this.served = this.value = 0;
  }
}

/**
 * Keeps the tenants that were seen last: a new one takes the place of the one that was not seen for longest. All its memory is
 * taken when it is made.
 *
 * Its rules, which all SDKs share: size counts as 1 to TENANT_SLOTS, 0 as TENANT_SLOTS. get makes a tenant the last one seen, find
 * does not. A tenant that comes back after it lost its place begins anew.
 */
export class TenantTable {
  private readonly size: i32;
  private readonly tenants: StaticArray<Tenant> = new StaticArray<Tenant>(TENANT_SLOTS);
  private used: i32 = 0;
  // Slots are numbered from 1; 0 is none. By slot, or for chains by what chain returns:
  private readonly newer: StaticArray<u16> = new StaticArray<u16>(TENANT_SLOTS + 1);
  private readonly older: StaticArray<u16> = new StaticArray<u16>(TENANT_SLOTS + 1);
  private readonly next: StaticArray<u16> = new StaticArray<u16>(TENANT_SLOTS + 1); // of the same chain
  private readonly chains: StaticArray<u16> = new StaticArray<u16>(TENANT_SLOTS);
  private first: u16 = 0; // seen last
  private last: u16 = 0; // not seen for longest

  constructor(size: u16 = 0) {
    this.size = size == 0 ? TENANT_SLOTS : min(<i32>size, TENANT_SLOTS);
    for (let i = 0; i < TENANT_SLOTS; i++) this.tenants[i] = new Tenant();
  }

  /** The tenant of that id, a new one if it is not in the table. It is valid until the next get of another id. */
  get(id: u64): Tenant {
    let n = this.slotOf(id);
    if (n != 0) {
      this.unlink(n);
    } else if (this.used < this.size) {
      n = <u16>++this.used;
      this.enter(n, id);
    } else {
      n = this.last;
      this.unlink(n);
      this.leave(n);
      this.enter(n, id);
    }
    this.pushFront(n);
    return this.tenants[n - 1];
  }

  /** The tenant of that id; null if it is not in the table. */
  find(id: u64): Tenant | null {
    const n = this.slotOf(id);
    return n != 0 ? this.tenants[n - 1] : null;
  }

  /** How many tenants are in the table. */
  get length(): i32 { return this.used; }

  /** A tenant by its place, from 0 to length-1. Places follow no order, and a tenant keeps its own while it is in the table. */
  at(place: i32): Tenant { return this.tenants[place]; }

  /** The sum of the weights of all tenants with something in flight, each at least 1 and at most 2^20. */
  get weights(): i64 {
    let sum: i64 = 0;
    for (let i = 0; i < this.used; i++) {
      const t = this.tenants[i];
      if (t.inflight > 0) sum += clamp(t.weight, 1, MAX_WEIGHT);
    }
    return sum;
  }

  private slotOf(id: u64): u16 {
    let n = this.chains[chain(id)];
    while (n != 0 && this.tenants[n - 1].id != id) n = this.next[n];
    return n;
  }

  private enter(n: u16, id: u64): void {
    this.tenants[n - 1].begin(id);
    this.next[n] = this.chains[chain(id)];
    this.chains[chain(id)] = n;
  }

  private leave(n: u16): void {
    const c = chain(this.tenants[n - 1].id);
    if (this.chains[c] == n) {
      this.chains[c] = this.next[n];
      return;
    }
    let before = this.chains[c];
    while (this.next[before] != n) before = this.next[before];
    this.next[before] = this.next[n];
  }

  private unlink(n: u16): void {
    const newer = this.newer[n];
    const older = this.older[n];
    if (newer == 0) this.first = older; else this.older[newer] = older;
    if (older == 0) this.last = newer; else this.newer[older] = newer;
  }

  private pushFront(n: u16): void {
    this.newer[n] = 0;
    this.older[n] = this.first;
    if (this.first == 0) this.last = n; else this.newer[this.first] = n;
    this.first = n;
  }
}

/** Where a tenant's slot is looked for. Ids are hashes already: the multiplication is for tests that count from 1. */
function chain(id: u64): i32 { return <i32>(id * 0x9e3779b97f4a7c15 >> 56); }

/**
 * The part of total that a weight among the sum weights is due, rounded down and at least 1. total is clamped to 0 and 2^40,
 * weight to 1 and 2^20, and weights to weight and 2^40.
 */
export function fairShare(total: i64, weight: i64, weights: i64): i64 {
  total = clamp(total, 0, MAX_TOTAL);
  weight = clamp(weight, 1, MAX_WEIGHT);
  return max<i64>(total * weight / clamp(weights, weight, MAX_TOTAL), 1);
}
