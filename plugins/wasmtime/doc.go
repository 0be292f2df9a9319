// Package wasmtime runs policies on wasmtime.
package wasmtime
