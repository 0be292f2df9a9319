//go:build !linux

package llama

func calmMonitor() {}
