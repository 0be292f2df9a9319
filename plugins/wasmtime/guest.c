//go:build wasmtime

#include "guest.h"
#include "stack.h"
#include "_cgo_export.h"

#include <stdlib.h>
#include <string.h>

sluice_guest *sluice_guest_new(wasm_engine_t *engine, uintptr_t handle) {
  sluice_guest *g = calloc(1, sizeof *g);
  if (g == NULL) return NULL;
  g->handle = handle;
  g->stack = sluice_stack_new(SLUICE_STACK_BYTES);
  g->store = wasmtime_store_new(engine, g, NULL);
  if (g->stack == NULL || g->store == NULL) {
    sluice_guest_delete(g);
    return NULL;
  }
  g->context = wasmtime_store_context(g->store);
  return g;
}

void sluice_guest_delete(sluice_guest *g) {
  if (g->trap != NULL) wasm_trap_delete(g->trap);
  if (g->error != NULL) wasmtime_error_delete(g->error);
  if (g->store != NULL) wasmtime_store_delete(g->store);
  sluice_stack_delete(g->stack, SLUICE_STACK_BYTES);
  free(g);
}

// take keeps an export of one kind.
static bool take(wasmtime_extern_t *item, wasmtime_extern_kind_t kind, void *into, const void *from, size_t size) {
  if (item->kind != kind) {
    wasmtime_extern_delete(item);
    return false;
  }
  memcpy(into, from, size);
  return true;
}

// export looks one up by the instance, or while its start function runs by what that calls.
static bool export(sluice_guest *g, wasmtime_caller_t *caller, const char *name, wasmtime_extern_t *item) {
  if (caller != NULL) return wasmtime_caller_export_get(caller, name, strlen(name), item);
  return wasmtime_instance_export_get(g->context, &g->instance, name, strlen(name), item);
}

static void bind(sluice_guest *g, wasmtime_caller_t *caller) {
  wasmtime_extern_t item;
  wasmtime_val_t v;
  if (!export(g, caller, SLUICE_FUEL_EXPORT, &item)) return;
  if (!take(&item, WASMTIME_EXTERN_GLOBAL, &g->counter, &item.of.global, sizeof g->counter)) return;
  wasmtime_global_get(g->context, &g->counter, &v);
  if (v.kind != WASMTIME_I64) return;
  if (!export(g, caller, SLUICE_MEMORY_EXPORT, &item)) return;
  g->bound = take(&item, WASMTIME_EXTERN_MEMORY, &g->pages, &item.of.memory, sizeof g->pages);
}

static void read_fuel(sluice_guest *g) {
  wasmtime_val_t v;
  wasmtime_global_get(g->context, &g->counter, &v);
  g->fuel = v.of.i64;
}

static void write_fuel(sluice_guest *g) {
  wasmtime_val_t v = {.kind = WASMTIME_I64, .of = {.i64 = g->fuel}};
  wasmtime_global_set(g->context, &g->counter, &v); // cannot fail: it is a mutable i64
}

static void read_memory(sluice_guest *g) {
  g->memory = wasmtime_memory_data(g->context, &g->pages);
  g->size = wasmtime_memory_data_size(g->context, &g->pages);
}

static void enter(sluice_guest *g, void (*f)(void *)) {
  sluice_on_stack(g->stack + SLUICE_STACK_BYTES, &g->system_stack, f, g);
}

static void instantiate(void *arg) {
  sluice_guest *g = arg;
  g->error = wasmtime_instance_pre_instantiate(g->pre, g->context, &g->instance, &g->trap);
}

void sluice_guest_instantiate(sluice_guest *g, const wasmtime_instance_pre_t *pre) {
  g->pre = pre;
  enter(g, instantiate);
  if (g->error == NULL && g->trap == NULL) bind(g, NULL);
  if (!g->bound) return;
  read_fuel(g);
  read_memory(g);
}

static bool same_kinds(const wasm_valtype_vec_t *types, const uint8_t *kinds, size_t n) {
  if (types->size != n) return false;
  for (size_t i = 0; i < n; i++)
    if (wasm_valtype_kind(types->data[i]) != kinds[i]) return false;
  return true;
}

int sluice_guest_find(sluice_guest *g, uint32_t entry, const char *name, size_t len, const uint8_t *kinds, size_t params,
                       size_t results) {
  wasmtime_extern_t item;
  if (!wasmtime_instance_export_get(g->context, &g->instance, name, len, &item)) return SLUICE_NONE;
  if (!take(&item, WASMTIME_EXTERN_FUNC, &g->func[entry], &item.of.func, sizeof g->func[entry])) return SLUICE_NONE;
  wasm_functype_t *type = wasmtime_func_type(g->context, &g->func[entry]);
  bool same = same_kinds(wasm_functype_params(type), kinds, params) &&
              same_kinds(wasm_functype_results(type), kinds + params, results);
  wasm_functype_delete(type);
  return same ? SLUICE_FOUND : SLUICE_OTHER_TYPE;
}

static void call(void *arg) {
  sluice_guest *g = arg;
  wasmtime_val_raw_t v = {.i64 = (int64_t)g->value};
  write_fuel(g);
  g->error = wasmtime_func_call_unchecked(g->context, &g->func[g->entry], &v, 1, &g->trap);
  g->value = (uint64_t)v.i64;
  read_fuel(g);
  g->size = wasmtime_memory_data_size(g->context, &g->pages);
}

void sluice_guest_call(sluice_guest *g, uint32_t entry) {
  g->entry = entry;
  enter(g, call);
}

static void to_go(void *arg) { sluiceHostCall(arg); }

// host_call is every function of the host. Go runs on the thread's own stack, which it knows.
static wasm_trap_t *host_call(void *env, wasmtime_caller_t *caller, wasmtime_val_raw_t *values, size_t n) {
  sluice_guest *g = wasmtime_context_get_data(wasmtime_caller_context(caller));
  if (!g->bound) bind(g, caller);
  if (!g->bound || n > SLUICE_ARGS) return wasmtime_trap_new_code(WASMTIME_TRAP_CODE_INTERRUPT);
  read_fuel(g);
  read_memory(g);
  g->called = (uintptr_t)env;
  for (size_t i = 0; i < n; i++) g->args[i] = (uint64_t)values[i].i64;
  void *guest_stack;
  sluice_on_stack(g->system_stack, &guest_stack, to_go, g);
  write_fuel(g);
  if (n > 0) values[0].i64 = (int64_t)g->args[0];
  return g->ended ? wasmtime_trap_new_code(WASMTIME_TRAP_CODE_INTERRUPT) : NULL;
}

wasmtime_error_t *sluice_linker_define(wasmtime_linker_t *linker, const char *module, size_t module_len, const char *name,
                                       size_t name_len, const uint8_t *kinds, size_t params, size_t results,
                                       uintptr_t index) {
  wasm_valtype_t *types[2 * SLUICE_ARGS];
  for (size_t i = 0; i < params + results; i++) types[i] = wasm_valtype_new(kinds[i]);
  wasm_valtype_vec_t in, out;
  wasm_valtype_vec_new(&in, params, types);
  wasm_valtype_vec_new(&out, results, types + params);
  wasm_functype_t *type = wasm_functype_new(&in, &out);
  wasmtime_error_t *error = wasmtime_linker_define_func_unchecked(linker, module, module_len, name, name_len, type, host_call,
                                                                  (void *)index, NULL);
  wasm_functype_delete(type);
  return error;
}
