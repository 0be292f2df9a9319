// Package module says what a policy's module tells of itself without being run: what it is made of, what it asks of a host,
// where its bytes go, and which of its functions may call themselves.
//
// Whether a server takes it, only loading it tells: see package sandbox.
//
//	info, err := module.Inspect(wasm)
package module
