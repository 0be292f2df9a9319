// One helper of each kind, for the vectors. What begins with new_ begins a line.

import { EWMA, fairShare, Hysteresis, PID, TenantTable, TokenBucket, Window } from "../../assembly";
import "../../assembly/panic";

let ewma = new EWMA(0);
export function new_ewma(shift: i64): void { ewma = new EWMA(<u8>shift); }
export function ewma_add(x: i64): i64 { ewma.add(x); return ewma.value; }

let hysteresis = new Hysteresis(0, 0, 0);
export function new_hysteresis(above: i64, below: i64, hold: i64): void { hysteresis = new Hysteresis(above, below, hold); }
export function hysteresis_update(at: i64, value: i64): i64 { return <i64>(hysteresis.update(at, value) && hysteresis.on); }

let window = new Window(1, 1);
export function new_window(width: i64, buckets: i64): void { window = new Window(width, <u8>buckets); }
export function window_step(now: i64, op: i64, x: i64): void {
  if (op == 1) window.add(now, x);
  if (op == 2) window.reset();
}
export function window_sum(now: i64): i64 { return window.sum(now); }
export function window_rate(now: i64): i64 { return window.rate(now); }

let bucket = new TokenBucket(0, 0);
export function new_token_bucket(rate: i64, burst: i64): void { bucket = new TokenBucket(rate, burst); }
export function bucket_step(now: i64, op: i64, n: i64): i64 {
  bucket.wait = 0;
  if (op == 0) return <i64>bucket.take(now, n);
  if (op == 1) bucket.give(now, n); else bucket.reset();
  return 1;
}
export function bucket_wait(): i64 { return bucket.wait; }
export function bucket_level(now: i64): i64 { return bucket.level(now); }

let pid = new PID(0, 0, 0, 0, 0, 0);
export function new_pid(kp: i64, ki: i64, kd: i64, shift: i64, low: i64, high: i64): void { pid = new PID(kp, ki, kd, <u8>shift, low, high); }
export function pid_step(op: i64, x: i64): i64 {
  if (op == 0) return pid.update(x);
  pid.reset(x);
  return pid.update(0);
}

let table = new TenantTable();
export function new_tenant_table(size: i64): void { table = new TenantTable(<u16>size); }
export function table_step(op: i64, id: i64, x: i64): void {
  if (op == 0) return;
  const t = table.get(<u64>id);
  if (op == 1) t.served += x;
  if (op == 2) t.inflight += x;
  if (op == 3) t.weight = x;
}
export function table_found(id: i64): i64 { return table.find(<u64>id) ? 1 : 0; }
export function table_served(id: i64): i64 { const t = table.find(<u64>id); return t ? t.served : 0; }
export function table_inflight(id: i64): i64 { const t = table.find(<u64>id); return t ? t.inflight : 0; }
export function table_weight(id: i64): i64 { const t = table.find(<u64>id); return t ? t.weight : 0; }
export function table_place(id: i64): i64 {
  for (let i = 0; i < table.length; i++) {
    if (table.at(i).id == <u64>id) return i;
  }
  return -1;
}
export function table_len(): i64 { return table.length; }
export function table_weights(): i64 { return table.weights; }

export function fair_share(total: i64, weight: i64, weights: i64): i64 { return fairShare(total, weight, weights); }
