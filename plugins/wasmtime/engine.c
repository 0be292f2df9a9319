//go:build wasmtime

#include "guest.h"

// What each setting is for stands in the package's comment.
wasm_engine_t *sluice_engine_new(void) {
  wasm_config_t *c = wasm_config_new();
  wasmtime_config_wasm_simd_set(c, true);
  wasmtime_config_wasm_relaxed_simd_set(c, false);
  wasmtime_config_wasm_threads_set(c, false);
  wasmtime_config_wasm_tail_call_set(c, false);
  wasmtime_config_wasm_function_references_set(c, false);
  wasmtime_config_wasm_gc_set(c, false);
  wasmtime_config_wasm_multi_memory_set(c, false);
  wasmtime_config_wasm_memory64_set(c, false);
  wasmtime_config_wasm_wide_arithmetic_set(c, false);
  wasmtime_config_wasm_exceptions_set(c, false);
  wasmtime_config_wasm_custom_page_sizes_set(c, false);
  wasmtime_config_wasm_stack_switching_set(c, false);
  wasmtime_config_wasm_component_model_set(c, false);

  wasmtime_config_max_wasm_stack_set(c, SLUICE_WASM_STACK_BYTES);
  wasmtime_config_memory_may_move_set(c, false);
  wasmtime_config_signals_based_traps_set(c, false);
  wasmtime_config_macos_use_mach_ports_set(c, false);
  wasmtime_config_native_unwind_info_set(c, false);
  wasmtime_config_parallel_compilation_set(c, false);
  wasmtime_config_cranelift_opt_level_set(c, WASMTIME_OPT_LEVEL_SPEED);
  return wasm_engine_new_with_config(c);
}
