// A guest runs on a stack of its own, so that how deep it may recurse depends on neither the thread nor its limits.

#ifndef SLUICE_WASMTIME_STACK_H
#define SLUICE_WASMTIME_STACK_H

#include <stddef.h>

// sluice_stack_new maps a stack with a page below it that nothing may touch. NULL when there is no memory.
char *sluice_stack_new(size_t bytes);
void sluice_stack_delete(char *stack, size_t bytes);

// sluice_on_stack runs f(arg) with the stack pointer at top, and stores in *left where it was before.
void sluice_on_stack(void *top, void **left, void (*f)(void *), void *arg);

// sluice_below is where a function may run on a stack that was left at sp: below what the compiler may have put there
// without moving the stack pointer.
static inline void *sluice_below(void *sp) { return (void *)(((size_t)sp - 512) & ~(size_t)15); }

#endif // SLUICE_WASMTIME_STACK_H
