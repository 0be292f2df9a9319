//go:build unix

package wazero

import "golang.org/x/sys/unix"

// reserve maps memory outside the Go heap: it counts for no garbage collection, and goes back to the system at once.
func reserve(size uint64) []byte {
	if size == 0 {
		return nil
	}
	b, err := unix.Mmap(-1, 0, int(size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return nil // the instantiation fails
	}
	return b
}

func unreserve(b []byte) {
	if len(b) > 0 {
		_ = unix.Munmap(b) // fails only for an address that was not mapped
	}
}
