// What a policy may implement. Its class says so (`class Mine implements Admitter`), and its entry file exports the functions of
// those interfaces: see exports.ts. A hook must not allocate: nothing is ever freed.

import { BatchPlan, Group, SpecPlan, State } from "./layout.gen";
import { Config } from "./config";
import { Reader, Writer } from "./saved";
import { Drafts, Events, Rankings, Rows, Verdicts } from "./views";

/**
 * Takes the configuration: the KEY=VALUE of `sluice policy push --set KEY=VALUE`. It is called before every other method, also
 * when nothing was set, so that defaults stand in one place. What it does not ask c for is refused as an unknown key, and a
 * value that a getter could not read is refused as well: both without any code of the policy's. A text that configure returns is
 * shown to whoever pushed the policy; null is for no error.
 *
 * A policy without it takes no configuration. Its function is sluice_configure.
 */
export interface Configurer {
  configure(c: Config): string | null;
}

/**
 * Declares which groups of fields the policy reads, so that the host computes and copies no others. It is asked once, when the
 * policy registers. A policy without it is given everything. What is read without being declared is unspecified, and a module
 * whose decisions depend on it is refused. It has no function of its own.
 */
export interface FieldReader {
  reads(): Group;
}

/**
 * Judges requests: each once when it arrives (Phase.Arrival), and again and again while it waits (Phase.Queued). out[i] belongs
 * to rows[i] and abstains until the policy writes it. A request that runs or has run is never judged: leave rows in other
 * phases alone. A rejection of a waiting request ends it; any other verdict lets it wait on. Its function is sluice_admit.
 */
export interface Admitter {
  admit(st: State, rows: Rows, out: Verdicts): void;
}

/**
 * Ranks waiting requests (Phase.Queued) against each other and running ones (Phase.Running) as victims. The lowest score enters
 * the batch first; equal ones keep the host's order. A row with RankFlag.MayPreempt may take the place of a running row whose
 * score is greater; of several, the one with the highest victimRank. Returning false leaves the order to the host. Its function
 * is sluice_prioritize.
 */
export interface Prioritizer {
  prioritize(st: State, rows: Rows, out: Rankings): bool;
}

/**
 * Limits the batch before a step is built. Fields of out that stay 0 mean the host's own limit, and returning false means it for
 * all of them. Its function is sluice_batch_cap.
 */
export interface BatchCapper {
  batchCap(st: State, out: BatchPlan): bool;
}

/**
 * Says how many tokens to draft, before each step in which something decodes, if the server has a drafter. k[i] is for rows[i]
 * and is -1, out.k's value, until the policy writes it. Returning false means no speculation. Its function is sluice_speculate.
 */
export interface Speculator {
  speculate(st: State, rows: Rows, out: SpecPlan, k: Drafts): bool;
}

/** Hears once per step what happened since the last one. It decides nothing. Its function is sluice_events. */
export interface EventSink {
  events(st: State, events: Events): void;
}

/**
 * Carries what a policy has learned over to the next version of it at a hot swap. save writes at most SAVE_ROOM bytes; nothing
 * written means nothing to keep. restore comes after configure. What it reads may have been written by another version of the
 * policy, so begin it with a version of your own and check everything. A text that restore returns goes to the server's log and
 * costs the state and nothing else; null is for no error. Its functions are sluice_save and sluice_restore.
 */
export interface StateSaver {
  save(to: Writer): void;
  restore(from: Reader): string | null;
}
