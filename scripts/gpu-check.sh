#!/usr/bin/env bash
# Checks the decode loop on this machine's NVIDIA GPU: exactness and tokens per second beside llama.cpp's own, in one table and
# within eight minutes. It fetches what set-up has not fetched yet, and nothing when all is there. Arguments go to bench/gpucheck.
#
#   scripts/gpu-check.sh [--streams 1,4,8,16,64] ...
#   scripts/gpu-check.sh --device cpu --threads 1    # tries the check itself, without a GPU
set -euo pipefail
cd "${BASH_SOURCE[0]%/*}/.."

case " $* " in
  *" --device cpu "* | *" --device=cpu "*) flags=() ;;
  *)
    flags=(--cuda)
    if ! ls /dev/nvidia[0-9]* >/dev/null 2>&1 && ! nvidia-smi -L >/dev/null 2>&1; then
      echo "gpu-check: there is no NVIDIA device on this machine: neither /dev/nvidia0 nor an answer of nvidia-smi" >&2
      exit 1
    fi
    ;;
esac
scripts/setup.sh "${flags[@]}"
# The libraries hold code for CUDA's virtual machine, which the driver compiles at the first use and keeps.
export CUDA_CACHE_PATH=${CUDA_CACHE_PATH:-${SLUICE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/sluice}/cuda-kernels}
export CUDA_CACHE_MAXSIZE=${CUDA_CACHE_MAXSIZE:-4294967296}
go build -o bin/gpucheck ./bench/gpucheck
exec timeout --signal=INT 480 bin/gpucheck "$@"
