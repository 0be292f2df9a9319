#!/usr/bin/env bash
# Prints every figure of docs/BENCHMARKS.md. Run it on an idle machine.
set -euo pipefail
cd "$(dirname "$0")/.."
echo "== $(date -u +%F), $(nproc) CPUs, $(grep -m1 'model name' /proc/cpuinfo | cut -d: -f2-), $(go version)"
echo "== decision: cost of a policy's decision"
go run ./bench/decision
echo "== step: the host's own time in a step, 50 us at most at 64 rows with 1,000 waiting"
go run ./bench/step
echo "== peers: the same decision asked in other ways"
(cd bench/peers && go run .)
echo "== runtimes: one decision on wazero and on wasmtime"
go test -tags wasmtime -run '^$' -bench . ./plugins/wasmtime
echo "== sandbox: what a hostile policy can do"
go run ./bench/sandbox
echo "== swap: a thousand swaps under load"
go run ./bench/swap
echo "== replay: requests per second"
go run ./bench/replay
echo "== engine: tokens per second beside the library's own batch decode"
go run ./bench/engine
