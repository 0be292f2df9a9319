// The memory that the host writes to and reads from. It lies before the heap and never moves.

import { BATCH_PLAN_SIZE, DESCRIPTOR_SIZE, EVENT_SIZE, ROW_SIZE, SPEC_PLAN_SIZE, STATE_SIZE, VERDICT_SIZE, RANKING_SIZE } from "./layout.gen";
import { MAX_ROWS, SAVE_ROOM } from "./units";

export const CONFIG_ROOM: i32 = 16 << 10;
export const OUT_ROOM: u32 = <u32>MAX_ROWS * VERDICT_SIZE; // the largest answer; the others lie in the same bytes

export const DESCRIPTOR = memory.data(<i32>DESCRIPTOR_SIZE, 8);
export const STATE = memory.data(<i32>STATE_SIZE, 8);
export const ROWS = memory.data(MAX_ROWS * <i32>ROW_SIZE, 8);
export const EVENTS = memory.data(MAX_ROWS * <i32>EVENT_SIZE, 8);
export const CONFIG = memory.data(CONFIG_ROOM, 8);
export const OUT = memory.data(<i32>OUT_ROOM, 8);
export const SAVED = memory.data(SAVE_ROOM, 8);

if (OUT_ROOM < <u32>MAX_ROWS * RANKING_SIZE || OUT_ROOM < SPEC_PLAN_SIZE + 4 * <u32>MAX_ROWS || OUT_ROOM < BATCH_PLAN_SIZE) {
  ERROR("an answer does not fit OUT_ROOM");
}
