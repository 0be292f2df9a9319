// What this package uses of wasmtime's C API, as version 39 declares it. cgo cannot name the folder of another module's
// headers, so they are declared here; a test compares every declaration and layout with the library's own headers, and
// wasmtime.New tries the library out before it trusts it.

#ifndef SLUICE_WASMTIME_API_H
#define SLUICE_WASMTIME_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifndef SLUICE_WASMTIME_OWN_TYPES // the comparing test includes the library's types instead

typedef struct wasm_config_t wasm_config_t;
typedef struct wasm_engine_t wasm_engine_t;
typedef struct wasm_trap_t wasm_trap_t;
typedef struct wasm_frame_t wasm_frame_t;
typedef struct wasm_valtype_t wasm_valtype_t;
typedef struct wasm_functype_t wasm_functype_t;
typedef struct wasmtime_error wasmtime_error_t;
typedef struct wasmtime_module wasmtime_module_t;
typedef struct wasmtime_store wasmtime_store_t;
typedef struct wasmtime_context wasmtime_context_t;
typedef struct wasmtime_linker wasmtime_linker_t;
typedef struct wasmtime_caller wasmtime_caller_t;
typedef struct wasmtime_instance_pre wasmtime_instance_pre_t;

typedef struct wasm_byte_vec_t {
  size_t size;
  char *data;
} wasm_byte_vec_t;
typedef wasm_byte_vec_t wasm_name_t;

typedef struct wasm_frame_vec_t {
  size_t size;
  wasm_frame_t **data;
} wasm_frame_vec_t;

typedef struct wasm_valtype_vec_t {
  size_t size;
  wasm_valtype_t **data;
} wasm_valtype_vec_t;

typedef uint8_t wasm_valkind_t;
typedef uint8_t wasmtime_valkind_t;
typedef uint8_t wasmtime_extern_kind_t;
typedef uint8_t wasmtime_trap_code_t;
typedef uint8_t wasmtime_opt_level_t;

enum { WASM_I32, WASM_I64 };
enum { WASMTIME_I32, WASMTIME_I64 };
enum { WASMTIME_EXTERN_FUNC, WASMTIME_EXTERN_GLOBAL, WASMTIME_EXTERN_TABLE, WASMTIME_EXTERN_MEMORY };
enum { WASMTIME_OPT_LEVEL_NONE, WASMTIME_OPT_LEVEL_SPEED };

enum {
  WASMTIME_TRAP_CODE_STACK_OVERFLOW,
  WASMTIME_TRAP_CODE_MEMORY_OUT_OF_BOUNDS,
  WASMTIME_TRAP_CODE_HEAP_MISALIGNED,
  WASMTIME_TRAP_CODE_TABLE_OUT_OF_BOUNDS,
  WASMTIME_TRAP_CODE_INDIRECT_CALL_TO_NULL,
  WASMTIME_TRAP_CODE_BAD_SIGNATURE,
  WASMTIME_TRAP_CODE_INTEGER_OVERFLOW,
  WASMTIME_TRAP_CODE_INTEGER_DIVISION_BY_ZERO,
  WASMTIME_TRAP_CODE_BAD_CONVERSION_TO_INTEGER,
  WASMTIME_TRAP_CODE_UNREACHABLE_CODE_REACHED,
  WASMTIME_TRAP_CODE_INTERRUPT,
};

typedef struct wasmtime_instance {
  uint64_t store_id;
  size_t private_index;
} wasmtime_instance_t;

typedef struct wasmtime_func {
  uint64_t store_id;
  void *private_ref;
} wasmtime_func_t;

typedef struct wasmtime_global {
  uint64_t store_id;
  uint32_t private_index[3];
} wasmtime_global_t;

typedef struct wasmtime_memory {
  struct {
    uint64_t store_id;
    uint32_t private_index;
  };
  uint32_t private_kind;
} wasmtime_memory_t;

typedef struct wasmtime_extern {
  wasmtime_extern_kind_t kind;
  union {
    wasmtime_func_t func;
    wasmtime_global_t global;
    wasmtime_memory_t memory;
  } of;
} wasmtime_extern_t;

typedef struct wasmtime_val {
  wasmtime_valkind_t kind;
  union {
    int32_t i32;
    int64_t i64;
    struct {
      uint64_t store_id;
      uint32_t private_index[2];
      void *private_ref;
    } reference;
  } of;
} wasmtime_val_t;

typedef union wasmtime_val_raw {
  int32_t i32;
  int64_t i64;
  uint8_t v128[16];
  void *funcref;
} wasmtime_val_raw_t;

typedef wasm_trap_t *(*wasmtime_func_unchecked_callback_t)(void *env, wasmtime_caller_t *caller,
                                                           wasmtime_val_raw_t *args_and_results,
                                                           size_t num_args_and_results);

#endif // SLUICE_WASMTIME_OWN_TYPES

wasm_config_t *wasm_config_new(void);
wasm_engine_t *wasm_engine_new_with_config(wasm_config_t *);
void wasm_engine_delete(wasm_engine_t *);
void wasmtime_config_max_wasm_stack_set(wasm_config_t *, size_t);
void wasmtime_config_wasm_threads_set(wasm_config_t *, bool);
void wasmtime_config_wasm_tail_call_set(wasm_config_t *, bool);
void wasmtime_config_wasm_function_references_set(wasm_config_t *, bool);
void wasmtime_config_wasm_gc_set(wasm_config_t *, bool);
void wasmtime_config_wasm_simd_set(wasm_config_t *, bool);
void wasmtime_config_wasm_relaxed_simd_set(wasm_config_t *, bool);
void wasmtime_config_wasm_multi_memory_set(wasm_config_t *, bool);
void wasmtime_config_wasm_memory64_set(wasm_config_t *, bool);
void wasmtime_config_wasm_wide_arithmetic_set(wasm_config_t *, bool);
void wasmtime_config_wasm_exceptions_set(wasm_config_t *, bool);
void wasmtime_config_wasm_custom_page_sizes_set(wasm_config_t *, bool);
void wasmtime_config_wasm_stack_switching_set(wasm_config_t *, bool);
void wasmtime_config_wasm_component_model_set(wasm_config_t *, bool);
void wasmtime_config_parallel_compilation_set(wasm_config_t *, bool);
void wasmtime_config_cranelift_nan_canonicalization_set(wasm_config_t *, bool);
void wasmtime_config_cranelift_opt_level_set(wasm_config_t *, wasmtime_opt_level_t);
void wasmtime_config_memory_may_move_set(wasm_config_t *, bool);
void wasmtime_config_native_unwind_info_set(wasm_config_t *, bool);
void wasmtime_config_macos_use_mach_ports_set(wasm_config_t *, bool);
void wasmtime_config_signals_based_traps_set(wasm_config_t *, bool);

void wasm_byte_vec_delete(wasm_byte_vec_t *);
void wasm_frame_vec_delete(wasm_frame_vec_t *);
void wasm_trap_delete(wasm_trap_t *);
void wasm_trap_message(const wasm_trap_t *, wasm_byte_vec_t *out);
void wasm_trap_trace(const wasm_trap_t *, wasm_frame_vec_t *out);
uint32_t wasm_frame_func_index(const wasm_frame_t *);
const wasm_name_t *wasmtime_frame_func_name(const wasm_frame_t *);
wasm_trap_t *wasmtime_trap_new_code(wasmtime_trap_code_t code);
bool wasmtime_trap_code(const wasm_trap_t *, wasmtime_trap_code_t *code);
void wasmtime_error_delete(wasmtime_error_t *error);
void wasmtime_error_message(const wasmtime_error_t *error, wasm_name_t *message);

wasm_valtype_t *wasm_valtype_new(wasm_valkind_t);
void wasm_valtype_vec_new(wasm_valtype_vec_t *out, size_t, wasm_valtype_t *const[]);
wasm_functype_t *wasm_functype_new(wasm_valtype_vec_t *params, wasm_valtype_vec_t *results);
void wasm_functype_delete(wasm_functype_t *);
const wasm_valtype_vec_t *wasm_functype_params(const wasm_functype_t *);
const wasm_valtype_vec_t *wasm_functype_results(const wasm_functype_t *);
wasm_valkind_t wasm_valtype_kind(const wasm_valtype_t *);
wasm_functype_t *wasmtime_func_type(const wasmtime_context_t *store, const wasmtime_func_t *func);

wasmtime_linker_t *wasmtime_linker_new(wasm_engine_t *engine);
void wasmtime_linker_delete(wasmtime_linker_t *linker);
wasmtime_error_t *wasmtime_linker_define_func_unchecked(wasmtime_linker_t *linker, const char *module, size_t module_len,
                                                        const char *name, size_t name_len, const wasm_functype_t *ty,
                                                        wasmtime_func_unchecked_callback_t cb, void *data,
                                                        void (*finalizer)(void *));
wasmtime_error_t *wasmtime_linker_instantiate_pre(const wasmtime_linker_t *linker, const wasmtime_module_t *module,
                                                  wasmtime_instance_pre_t **instance_pre);

wasmtime_error_t *wasmtime_module_new(wasm_engine_t *engine, const uint8_t *wasm, size_t wasm_len, wasmtime_module_t **ret);
wasmtime_error_t *wasmtime_module_validate(wasm_engine_t *engine, const uint8_t *wasm, size_t wasm_len);
wasmtime_error_t *wasmtime_module_serialize(wasmtime_module_t *module, wasm_byte_vec_t *ret);
wasmtime_error_t *wasmtime_module_deserialize(wasm_engine_t *engine, const uint8_t *bytes, size_t bytes_len,
                                              wasmtime_module_t **ret);
void wasmtime_module_delete(wasmtime_module_t *m);

wasmtime_error_t *wasmtime_instance_pre_instantiate(const wasmtime_instance_pre_t *instance_pre, wasmtime_context_t *store,
                                                    wasmtime_instance_t *instance, wasm_trap_t **trap_ptr);
void wasmtime_instance_pre_delete(wasmtime_instance_pre_t *instance_pre);
bool wasmtime_instance_export_get(wasmtime_context_t *store, const wasmtime_instance_t *instance, const char *name,
                                  size_t name_len, wasmtime_extern_t *item);

wasmtime_store_t *wasmtime_store_new(wasm_engine_t *engine, void *data, void (*finalizer)(void *));
void wasmtime_store_delete(wasmtime_store_t *store);
wasmtime_context_t *wasmtime_store_context(wasmtime_store_t *store);
void *wasmtime_context_get_data(const wasmtime_context_t *context);
wasmtime_context_t *wasmtime_caller_context(wasmtime_caller_t *caller);
bool wasmtime_caller_export_get(wasmtime_caller_t *caller, const char *name, size_t name_len, wasmtime_extern_t *item);

wasmtime_error_t *wasmtime_func_call_unchecked(wasmtime_context_t *store, const wasmtime_func_t *func,
                                               wasmtime_val_raw_t *args_and_results, size_t args_and_results_len,
                                               wasm_trap_t **trap);
void wasmtime_global_get(wasmtime_context_t *store, const wasmtime_global_t *global, wasmtime_val_t *out);
wasmtime_error_t *wasmtime_global_set(wasmtime_context_t *store, const wasmtime_global_t *global, const wasmtime_val_t *val);
uint8_t *wasmtime_memory_data(const wasmtime_context_t *store, const wasmtime_memory_t *memory);
size_t wasmtime_memory_data_size(const wasmtime_context_t *store, const wasmtime_memory_t *memory);
void wasmtime_extern_delete(wasmtime_extern_t *val);

#endif // SLUICE_WASMTIME_API_H
