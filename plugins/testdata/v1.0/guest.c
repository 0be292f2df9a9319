/* A policy as it was built for ABI 1.0, on that version's offsets alone: it must run on every later host of version 1.
 * It rejects what has waited longer than the second class's objective, and caps the batch at the hard limit less one.
 *
 *   clang --target=wasm32 -O2 -nostdlib -fno-builtin -mbulk-memory -Wl,--no-entry,-s -o guest.wasm guest.c
 */
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef long long i64;

static _Alignas(8) u8 state[2392], rows[216 * 256], out[32 * 256], config[64], events[32];
static struct {
	u32 magic;
	u16 major, minor;
	u32 hooks, flags, state_ptr, state_cap, rows_ptr, rows_cap, row_stride, out_ptr, out_cap, config_ptr, config_cap, events_ptr, events_cap, reserved;
} d;

#define EXPORT(name) __attribute__((export_name(name)))

EXPORT("sluice_abi_v1") u32 descriptor(void) {
	d.magic = 0x45434c53, d.major = 1, d.minor = 0, d.hooks = 2 | 8;
	d.state_ptr = (u32)state, d.state_cap = sizeof state;
	d.rows_ptr = (u32)rows, d.rows_cap = sizeof rows, d.row_stride = 216;
	d.out_ptr = (u32)out, d.out_cap = sizeof out;
	d.config_ptr = (u32)config, d.config_cap = sizeof config, d.events_ptr = (u32)events, d.events_cap = sizeof events;
	return (u32)&d;
}

EXPORT("sluice_admit") int admit(int n) {
	i64 limit = *(i64 *)(state + 856 + 32);
	for (int i = 0; i < n; i++) {
		u8 *row = rows + 216 * i, *verdict = out + 32 * i;
		int late = limit > 0 && *(i64 *)(row + 40) > limit;
		verdict[0] = late ? 2 : 1;
		verdict[1] = 0xff;
		*(u16 *)(verdict + 2) = late ? 503 : 0;
		*(u32 *)(verdict + 16) = *(u32 *)(row + 208);
		*(int *)(verdict + 20) = -1;
	}
	return 0;
}

EXPORT("sluice_batch_cap") int batch_cap(void) {
	for (int i = 0; i < 92; i++)
		out[i] = 0;
	*(u32 *)out = *(u32 *)(state + 96) - 1;
	return 0;
}
