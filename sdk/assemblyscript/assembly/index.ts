// What a policy imports. The functions that it exports are in exports.ts.

export { Action, BatchPlan, ClassSLO, ClassStats, Event, EventKind, Group, Hook, HostState, Phase, RankFlag, Reason, SpecPlan, State } from "./layout.gen";
export { Ranking, Row, Verdict } from "./values";
export { Drafts, Events, Rankings, Rows, Verdicts } from "./views";
export { Admitter, BatchCapper, Configurer, EventSink, FieldReader, Prioritizer, Speculator, StateSaver } from "./policy";
export { register } from "./register";
export { Config } from "./config";
export { Reader, Writer } from "./saved";
export { line, Line, metric } from "./log";
export { CLASSES, HOUR, MAX_DRAFT, MAX_ROWS, MILLISECOND, MINUTE, ONE, SAVE_ROOM, SECOND } from "./units";
export { EWMA } from "./ewma";
export { Hysteresis } from "./hysteresis";
export { Window } from "./window";
export { FOREVER, TokenBucket } from "./token_bucket";
export { PID } from "./pid";
export { fairShare, Tenant, TenantTable, TENANT_SLOTS } from "./tenant_table";
