//go:build !unix

package wazero

func reserve(size uint64) []byte { return make([]byte, size) }

func unreserve([]byte) {}
