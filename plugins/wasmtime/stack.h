// A guest runs on a stack of its own, so that how deep it may recurse depends on neither the thread nor its limits.

#ifndef SLUICE_WASMTIME_STACK_H
#define SLUICE_WASMTIME_STACK_H

#include <stddef.h>

// sluice_stack_new maps a stack with a page below it that nothing may touch. NULL when there is no memory.
char *sluice_stack_new(size_t bytes);
void sluice_stack_delete(char *stack, size_t bytes);

// sluice_on_stack runs f(arg) with the stack pointer at top, and stores in *left where it was before.
// Both stacks are free below those addresses.
void sluice_on_stack(void *top, void **left, void (*f)(void *), void *arg);

#endif // SLUICE_WASMTIME_STACK_H
