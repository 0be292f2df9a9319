// Package wazero runs policies on wazero's compiler: pure Go, no cgo. It is a plugins.Runtime and knows nothing of what
// policies decide.
//
// A guest sees the two functions of the module "sluice", and of WASI preview 1 what the runtimes of Go, TinyGo and Rust
// need to start, made deterministic: clocks show the time that the call was given, random bytes follow from its seed,
// standard output and error are log lines, arguments and environment are empty, sleeping takes no time, and there are no
// files or sockets.
//
//	rt, err := wazero.New(wazero.Options{CacheDir: dir})
//	defer rt.Close()
//	host := plugins.New(rt, plugins.Options{})
package wazero
