import { Group, Hook, rowBytes } from "./layout.gen";
import { Admitter, BatchCapper, Configurer, EventSink, FieldReader, Prioritizer, Speculator, StateSaver } from "./policy";
import { rows } from "./views";

export let hooks: u32 = 0;
export let reads: u32 = 0; // 0 = all
export let configurer: Configurer | null = null;
export let admitter: Admitter | null = null;
export let prioritizer: Prioritizer | null = null;
export let batchCapper: BatchCapper | null = null;
export let speculator: Speculator | null = null;
export let eventSink: EventSink | null = null;
export let stateSaver: StateSaver | null = null;

/**
 * Makes p the module's policy. Call it once, at the top level of the entry file. The compiler refuses a class with a method of a
 * hook's name that does not implement the hook's interface, and one that has no hook that decides or listens.
 */
export function register<T>(p: T): void {
  if (hooks != 0) throw new Error("register was called twice: a module holds one policy");
  if (!isDefined(p.admit) && !isDefined(p.prioritize) && !isDefined(p.batchCap) && !isDefined(p.speculate) && !isDefined(p.events)) {
    ERROR("the policy implements none of Admitter, Prioritizer, BatchCapper, Speculator and EventSink");
  }
  if (isDefined(p.configure)) {
    if (p instanceof Configurer) { configurer = p; hooks |= Hook.Configure; } else ERROR("configure: the class must implement Configurer");
  }
  if (isDefined(p.admit)) {
    if (p instanceof Admitter) { admitter = p; hooks |= Hook.Admit; } else ERROR("admit: the class must implement Admitter");
  }
  if (isDefined(p.prioritize)) {
    if (p instanceof Prioritizer) { prioritizer = p; hooks |= Hook.Prioritize; } else ERROR("prioritize: the class must implement Prioritizer");
  }
  if (isDefined(p.batchCap)) {
    if (p instanceof BatchCapper) { batchCapper = p; hooks |= Hook.BatchCap; } else ERROR("batchCap: the class must implement BatchCapper");
  }
  if (isDefined(p.speculate)) {
    if (p instanceof Speculator) { speculator = p; hooks |= Hook.Speculate; } else ERROR("speculate: the class must implement Speculator");
  }
  if (isDefined(p.events)) {
    if (p instanceof EventSink) { eventSink = p; hooks |= Hook.Events; } else ERROR("events: the class must implement EventSink");
  }
  if (isDefined(p.save) || isDefined(p.restore)) {
    if (p instanceof StateSaver) { stateSaver = p; hooks |= Hook.State; } else ERROR("save and restore: the class must implement StateSaver");
  }
  if (isDefined(p.reads)) {
    if (p instanceof FieldReader) reads = <u32>(p.reads() | Group.Basic); else ERROR("reads: the class must implement FieldReader");
  }
  rows.stride = rowBytes(reads);
}
