//go:build !wasip1

package sluice

import "os"

// Natively there is no host: log lines go to standard error, and metrics nowhere.

func hostLog(_ Level, line []byte) {
	os.Stderr.Write(append(line[:len(line):len(line)], '\n')) //nolint:errcheck // there is nowhere to report it
}

func hostMetric(uint32, int64) {}
