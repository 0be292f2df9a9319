import { line } from "./log";

/** What abort means in a policy: it says why in the server's log, and traps. The host answers for the policy then. */
// @ts-ignore: a decorator
@global export function sluicePanic(message: string | null, file: string | null, at: u32, _column: u32): void {
  line("panic: ").text(message ? message : "unknown cause").text(" (").text(file ? file : "unknown file").text(":").uint(at).text(")").error();
  unreachable();
}
