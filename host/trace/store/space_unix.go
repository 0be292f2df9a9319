//go:build unix

package store

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// freeSpace is the number of bytes that this user may still write where dir is.
func freeSpace(dir string) (uint64, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return 0, fmt.Errorf("statfs %s: %w", dir, err)
	}
	return uint64(st.Bavail) * uint64(st.Bsize), nil
}
