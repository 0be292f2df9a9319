//go:build wasip1 && tinygo

package sluice

// yield does nothing: TinyGo's collector runs within the allocation that needs it.
func yield() {}
