//go:build !linux

package server

import "syscall"

// socketOptions leaves the system's defaults: dead peers are noticed by keep-alive alone.
func socketOptions(_, _ string, _ syscall.RawConn) error { return nil }
