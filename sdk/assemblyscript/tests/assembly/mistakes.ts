// A policy that makes every mistake that only shows when it runs, for the tests of the SDK.

import { EventSink, Events, Reader, register, State, StateSaver, Writer, line } from "../../assembly";
export { sluice_abi_v1, sluice_events, sluice_restore, sluice_save } from "../../assembly/exports";

class Mistakes implements EventSink, StateSaver {
  private count: i32 = 0;
  private left: i32[] = [];

  events(st: State, events: Events): void {
    switch (<i32>st.kNow) {
      case 0: throw new Error("out of ideas: “\ud83d\ude00”");
      case 1: this.count = <i32>events[events.length].class; break;
      case 2: this.count = <i32>(st.stepId / <u64>(st.kMax)); break;
      case 3: this.left.push(this.count); break; // grows for ever
      case 4: line("a").int(-1).text(" é€\ud83d\ude00\ud83d").uint(u64.MAX_VALUE).text(" ").int(i64.MIN_VALUE).bool(true).warn(); break;
      case 5: {
        const l = line();
        for (let i = 0; i < 200; i++) l.text("€uro");
        l.info();
      }
    }
  }

  save(to: Writer): void {
    for (let i = 0; i <= 512; i++) to.u64(i);
  }

  restore(from: Reader): string | null {
    const first = from.u32();
    const rest = from.left;
    const beyond = from.u64();
    return first.toString() + " " + rest.toString() + " " + beyond.toString() + " " + from.left.toString();
  }
}

register(new Mistakes());
