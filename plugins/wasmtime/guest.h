// A guest in wasmtime, entered once for each call from Go.

#ifndef SLUICE_WASMTIME_GUEST_H
#define SLUICE_WASMTIME_GUEST_H

#include "api.h"

#define SLUICE_FUEL_EXPORT "sluice_fuel"
#define SLUICE_MEMORY_EXPORT "memory"

enum {
  SLUICE_ENTRIES = 9,
  SLUICE_INITIALIZE = SLUICE_ENTRIES, // the entry of _initialize
  SLUICE_ARGS = 4,                    // the most that a function of the host takes

  SLUICE_STACK_BYTES = 64 << 20,
  SLUICE_WASM_STACK_BYTES = SLUICE_STACK_BYTES - (1 << 20), // what wasmtime itself calls on that stack has the rest
};

// sluice_guest is one instance. C allocates it; one thread at a time uses it.
typedef struct sluice_guest {
  // What Go sets before a call, and reads after it.
  int64_t fuel;              // the budget; then what is left of it
  uint64_t value;            // the argument; then the result
  uint8_t *memory;           // stays where it is
  size_t size;               // of memory in bytes: it grows
  wasm_trap_t *trap;         // why the call did not return, or NULL
  wasmtime_error_t *error;   // likewise
  bool bound; // fuel and memory are known

  // The call of the guest into the host that is in progress.
  uintptr_t handle; // Go's instance
  uintptr_t called; // index into hostcalls.All
  uint64_t args[SLUICE_ARGS]; // then the result in the first
  bool ended; // the guest must not go on

  // What only C uses.
  wasmtime_store_t *store;
  wasmtime_context_t *context;
  const wasmtime_instance_pre_t *pre;
  wasmtime_instance_t instance;
  wasmtime_func_t func[SLUICE_ENTRIES + 1];
  wasmtime_global_t counter;
  wasmtime_memory_t pages;
  uint32_t entry;
  char *stack;        // the lowest address of the guest's
  void *system_stack; // where the thread's own stood when the guest was entered
} sluice_guest;

// sluice_guest_new returns NULL when there is no memory for a store and a stack.
sluice_guest *sluice_guest_new(wasm_engine_t *engine, uintptr_t handle);
// sluice_guest_instantiate makes the instance and runs its start function. bound is false when it does not export what a
// metered policy does.
void sluice_guest_instantiate(sluice_guest *g, const wasmtime_instance_pre_t *pre);
// sluice_guest_find looks for the function of an entry. It must have exactly that type: calls do not check it.
enum { SLUICE_NONE, SLUICE_FOUND, SLUICE_OTHER_TYPE };
int sluice_guest_find(sluice_guest *g, uint32_t entry, const char *name, size_t len, const uint8_t *kinds, size_t params,
                       size_t results);
// sluice_guest_call calls an entry that was found.
void sluice_guest_call(sluice_guest *g, uint32_t entry);
void sluice_guest_delete(sluice_guest *g);

wasm_engine_t *sluice_engine_new(void);
// sluice_linker_define adds a function of the host. kinds are its parameters' types and then its results'.
wasmtime_error_t *sluice_linker_define(wasmtime_linker_t *linker, const char *module, size_t module_len, const char *name,
                                       size_t name_len, const uint8_t *kinds, size_t params, size_t results,
                                       uintptr_t index);

#endif // SLUICE_WASMTIME_GUEST_H
