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

// In assembler, because the unwinder of whoever looks for a backtrace must find its way from one stack to the other: Rust
// does when RUST_BACKTRACE is set. A register that calls preserve holds the place.
#define STRING(x) #x
#define SYMBOL(prefix, name) STRING(prefix) name
#define NAME SYMBOL_OF(__USER_LABEL_PREFIX__)
#define SYMBOL_OF(prefix) SYMBOL(prefix, "sluice_on_stack")

#if defined(__x86_64__)
__asm__(
    ".text\n"
    ".globl " NAME "\n"
    ".p2align 4\n" NAME ":\n"
    ".cfi_startproc\n"
    "  pushq %rbp\n"
    "  .cfi_def_cfa_offset 16\n"
    "  .cfi_offset %rbp, -16\n"
    "  movq %rsp, %rbp\n"
    "  .cfi_def_cfa_register %rbp\n"
    "  movq %rsp, (%rsi)\n"
    "  movq %rdi, %rsp\n"
    "  movq %rcx, %rdi\n"
    "  callq *%rdx\n"
    "  movq %rbp, %rsp\n"
    "  popq %rbp\n"
    "  .cfi_def_cfa %rsp, 8\n"
    "  ret\n"
    ".cfi_endproc\n");
#elif defined(__aarch64__)
__asm__(
    ".text\n"
    ".globl " NAME "\n"
    ".p2align 4\n" NAME ":\n"
    ".cfi_startproc\n"
    "  stp x29, x30, [sp, #-16]!\n"
    "  .cfi_def_cfa_offset 16\n"
    "  .cfi_offset x29, -16\n"
    "  .cfi_offset x30, -8\n"
    "  mov x29, sp\n"
    "  .cfi_def_cfa_register x29\n"
    "  str x29, [x1]\n"
    "  mov sp, x0\n"
    "  mov x0, x3\n"
    "  blr x2\n"
    "  mov sp, x29\n"
    "  ldp x29, x30, [sp], #16\n"
    "  .cfi_def_cfa sp, 0\n"
    "  ret\n"
    ".cfi_endproc\n");
#else
#error "no way to change stacks is written for this processor"
#endif
