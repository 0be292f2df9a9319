// Package hostcalls is what a policy can call: the module "sluice", and of WASI preview 1 what the runtimes of Go, TinyGo
// and Rust need to start, made deterministic. Clocks show the time that the call was given, random bytes follow from its
// seed, standard output and error are log lines, arguments and environment are empty, sleeping takes no time, and there are
// no files or sockets.
//
// It knows no WebAssembly runtime, so that a guest meets the same functions, at the same price, in every one: a runtime
// keeps a Guest for each instance, points it at the guest's memory and fuel, and calls the Func that the guest called.
//
//	for _, f := range hostcalls.All() {
//		define(f.Module, f.Name, f.Params, f.Results, func(i *instance, stack []uint64) {
//			i.guest.Memory = i.memory()
//			f.Call(&i.guest, stack)
//		})
//	}
package hostcalls
