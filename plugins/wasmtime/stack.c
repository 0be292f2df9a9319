//go:build wasmtime

#define _GNU_SOURCE
#include "stack.h"

#include <sys/mman.h>
#include <unistd.h>

char *sluice_stack_new(size_t bytes) {
  size_t guard = (size_t)sysconf(_SC_PAGESIZE);
  char *p = mmap(NULL, guard + bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANON | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED) return NULL;
  if (mprotect(p, guard, PROT_NONE) != 0) {
    munmap(p, guard + bytes);
    return NULL;
  }
#ifdef MADV_NOHUGEPAGE
  madvise(p, guard + bytes, MADV_NOHUGEPAGE); // most guests touch one page of it
#endif
  return p + guard;
}

void sluice_stack_delete(char *stack, size_t bytes) {
  size_t guard = (size_t)sysconf(_SC_PAGESIZE);
  if (stack != NULL) munmap(stack - guard, guard + bytes);
}

// The compiler does not see that the stack pointer moves: a register that calls preserve remembers it.
__attribute__((noinline)) void sluice_on_stack(void *top, void **left, void (*f)(void *), void *arg) {
#if defined(__x86_64__)
  __asm__ volatile(
      "movq %%rsp, %%rbx\n\t"
      "movq %%rsp, (%[left])\n\t"
      "movq %[top], %%rsp\n\t"
      "callq *%[f]\n\t"
      "movq %%rbx, %%rsp"
      : "+D"(arg), [top] "+S"(top), [f] "+a"(f), [left] "+d"(left)
      :
      : "rbx", "rcx", "r8", "r9", "r10", "r11", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8",
        "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15", "memory", "cc");
#elif defined(__aarch64__)
  register void *x0 __asm__("x0") = arg;
  __asm__ volatile(
      "mov x19, sp\n\t"
      "str x19, [%[left]]\n\t"
      "mov sp, %[top]\n\t"
      "blr %[f]\n\t"
      "mov sp, x19"
      : "+r"(x0)
      : [top] "r"(top), [f] "r"(f), [left] "r"(left)
      : "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11", "x12", "x13", "x14", "x15", "x16", "x17",
        "x19", "x30", "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10", "v11", "v12", "v13", "v14",
        "v15", "v16", "v17", "v18", "v19", "v20", "v21", "v22", "v23", "v24", "v25", "v26", "v27", "v28", "v29", "v30",
        "v31", "memory", "cc");
#else
#error "no way to change stacks is written for this processor"
#endif
}
