#!/usr/bin/env bash
# Prints every figure of docs/BENCHMARKS.md. Run it on an idle machine.
set -euo pipefail
cd "$(dirname "$0")/.."
echo "== $(date -u +%F), $(nproc) CPUs, $(grep -m1 'model name' /proc/cpuinfo | cut -d: -f2-), $(go version)"
echo "== engine: tokens per second beside the library's own batch decode"
go run ./bench/engine
echo "== decision: cost of a policy's decision"
go run ./bench/decision
echo "== replay: requests per second"
go run ./bench/replay
