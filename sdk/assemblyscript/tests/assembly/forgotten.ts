// A policy whose export line lacks the function of its only hook, for the tests of the SDK.

import { Events, EventSink, register, State } from "../../assembly";
export { sluice_abi_v1 } from "../../assembly/exports";

class Mine implements EventSink {
  events(_st: State, _events: Events): void {}
}

register(new Mine());
