#!/usr/bin/env bash
# Installs the load tools that test/loadtools drives against Sluice: the benchmark of vLLM, guidellm, aiperf and inference-perf.
# It says nothing and does nothing when they are there.
#
#   scripts/load-tools.sh
#
# SLUICE_CACHE is where it all goes (default: the user's cache folder, sluice/), 14 GB with vLLM, which scripts/peers.sh installs:
#
#   guidellm-0.8.1/  aiperf-0.13.0/  inference-perf-0.7.0/    environments; bin/python -m starts each
#   load-tools/tokenizer/                                     the default model's tokenizer as the tools read it
#   load-tools/hub/                                           the same as a hub's cache, as local/smollm2, for aiperf
set -euo pipefail

name=load-tools
root=$(cd "${BASH_SOURCE[0]%/*}/.." && pwd)
. "$root/scripts/cache.sh"

# tool NAME VERSION MINOR GIGABYTES: MINOR is the Python that its list was made for.
tool() {
  local folder=$cache/$1-$2 list=$root/scripts/load-tools/$1.txt
  ! have_env "$folder" "$list" || return 0
  room "$(($4 + 2))" "$1"
  say "installing $1 $2 ($4 GB) with pip, some minutes"
  python_env "$folder" "$list" "$3"
}

# The classes that the converted tokenizer names are not known to every tool's version of the library that reads it.
write_tokenizer() {
  local out=$tmp/load-tools snapshot=$tmp/load-tools/hub/hub/models--local--smollm2/snapshots/r0
  mkdir -p "$out/tokenizer" "$snapshot" "$snapshot/../../refs"
  cp "$model/tokenizer.json" "$model/config.json" "$root/scripts/load-tools/tokenizer_config.json" "$out/tokenizer/"
  cp "$out/tokenizer/"* "$snapshot/"
  printf r0 >"$snapshot/../../refs/main"
  rm -rf "$cache/load-tools"
  mv -T "$out" "$cache/load-tools"
}

open_cache
model=$cache/models/SmolLM2-135M-Instruct-bf16
"$root/scripts/peers.sh" vllm
tool inference-perf 0.7.0 12 1
tool aiperf 0.13.0 12 2
tool guidellm 0.8.1 12 6
cmp -s "$root/scripts/load-tools/tokenizer_config.json" "$cache/load-tools/tokenizer/tokenizer_config.json" || write_tokenizer
