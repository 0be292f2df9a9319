//go:build wasmtime

package wasmtime_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// library is the module that the library and its headers come with.
const library = "github.com/bytecodealliance/wasmtime-go/v39"

// declarations fails to compile where a function is declared twice and differently.
const declarations = `
#include <wasm.h>
#include <wasmtime.h>
#define SLUICE_WASMTIME_OWN_TYPES
#include "api.h"
`

// layouts prints what a library that is already compiled takes for granted.
const layouts = `
#ifdef LIBRARY
#include <wasm.h>
#include <wasmtime.h>
#else
#include "api.h"
#endif
#include <stdio.h>
#define SIZE(t) printf(#t " %zu %zu\n", sizeof(t), _Alignof(t));
#define AT(t, f) printf(#t "." #f " %zu\n", offsetof(t, f));
#define VALUE(v) printf(#v " %d\n", (int)(v));
int main(void) {
  SIZE(wasm_byte_vec_t) AT(wasm_byte_vec_t, size) AT(wasm_byte_vec_t, data)
  SIZE(wasm_frame_vec_t) AT(wasm_frame_vec_t, size) AT(wasm_frame_vec_t, data)
  SIZE(wasm_valtype_vec_t) AT(wasm_valtype_vec_t, size) AT(wasm_valtype_vec_t, data)
  SIZE(wasm_valkind_t) SIZE(wasmtime_valkind_t) SIZE(wasmtime_extern_kind_t) SIZE(wasmtime_trap_code_t) SIZE(wasmtime_opt_level_t)
  SIZE(wasmtime_instance_t) SIZE(wasmtime_func_t) SIZE(wasmtime_global_t) SIZE(wasmtime_memory_t)
  SIZE(wasmtime_extern_t) AT(wasmtime_extern_t, kind) AT(wasmtime_extern_t, of.func) AT(wasmtime_extern_t, of.global) AT(wasmtime_extern_t, of.memory)
  SIZE(wasmtime_val_t) AT(wasmtime_val_t, kind) AT(wasmtime_val_t, of.i64)
  SIZE(wasmtime_val_raw_t) AT(wasmtime_val_raw_t, i64)
  VALUE(WASM_I32) VALUE(WASM_I64) VALUE(WASMTIME_I64)
  VALUE(WASMTIME_EXTERN_FUNC) VALUE(WASMTIME_EXTERN_GLOBAL) VALUE(WASMTIME_EXTERN_MEMORY) VALUE(WASMTIME_OPT_LEVEL_SPEED)
  VALUE(WASMTIME_TRAP_CODE_STACK_OVERFLOW) VALUE(WASMTIME_TRAP_CODE_MEMORY_OUT_OF_BOUNDS)
  VALUE(WASMTIME_TRAP_CODE_TABLE_OUT_OF_BOUNDS) VALUE(WASMTIME_TRAP_CODE_INDIRECT_CALL_TO_NULL)
  VALUE(WASMTIME_TRAP_CODE_BAD_SIGNATURE) VALUE(WASMTIME_TRAP_CODE_INTEGER_OVERFLOW)
  VALUE(WASMTIME_TRAP_CODE_INTEGER_DIVISION_BY_ZERO) VALUE(WASMTIME_TRAP_CODE_BAD_CONVERSION_TO_INTEGER)
  VALUE(WASMTIME_TRAP_CODE_UNREACHABLE_CODE_REACHED) VALUE(WASMTIME_TRAP_CODE_INTERRUPT)
  return 0;
}
`

// TestDeclarationsAreTheLibrarys compares api.h with the headers that come with the library.
func TestDeclarationsAreTheLibrarys(t *testing.T) {
	dir := output(t, "go", "list", "-m", "-f", "{{.Dir}}", library)
	include := "-I" + filepath.Join(dir, "build", "include")
	cc := output(t, "go", "env", "CC")
	output(t, cc, "-fsyntax-only", "-Werror", include, "-I.", source(t, declarations))
	var printed [2]string
	for k, flags := range [][]string{nil, {"-DLIBRARY", include}} {
		exe := filepath.Join(t.TempDir(), "layouts")
		output(t, cc, append(flags, "-I.", "-o", exe, source(t, layouts))...)
		printed[k] = output(t, exe)
	}
	if printed[0] != printed[1] || !strings.Contains(printed[0], "wasmtime_val_t 32 8") {
		t.Errorf("here:\n%s\nin the library:\n%s", printed[0], printed[1])
	}
}

func source(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "source.c")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// output runs a command, and returns what it prints.
func output(t *testing.T, command string, args ...string) string {
	t.Helper()
	out, err := exec.Command(command, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %q: %v\n%s", command, args, err, out)
	}
	return strings.TrimSpace(string(out))
}
