/* The rule as a plug-in for Extism, on its kernel's functions alone. */
typedef unsigned long long u64;
typedef long long i64;
#define IMPORT(name) __attribute__((import_module("extism:host/env"), import_name(name)))
IMPORT("input_load_u64") u64 input_load_u64(u64 at);
IMPORT("alloc") u64 extism_alloc(u64 size);
IMPORT("store_u8") void store_u8(u64 at, unsigned char v);
IMPORT("output_set") void output_set(u64 at, u64 size);

__attribute__((export_name("shed"))) int shed(void) {
	i64 wait = (i64)input_load_u64(0), max_age = (i64)input_load_u64(8), waiting = (i64)input_load_u64(16);
	u64 out = extism_alloc(1);
	store_u8(out, wait > max_age && waiting > 0);
	output_set(out, 1);
	return 0;
}
