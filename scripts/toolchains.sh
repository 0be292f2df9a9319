#!/usr/bin/env bash
# Installs what builds and tests the SDKs beside Go: clang and lld for C, the WebAssembly target for Rust, the AssemblyScript
# compiler from npm. It is quick and says nothing when all of it is there. Serving needs none of it.
#
#   scripts/toolchains.sh
#
# What cannot be installed is named; the tests of that SDK are skipped then, with SLUICE_REQUIRE_SDKS=1 they fail.
# Debian's packages are used as root only; Rust's target comes from rustup where it can, else with Debian's own compiler.
set -euo pipefail

root=$(cd "${BASH_SOURCE[0]%/*}/.." && pwd)
missing=0

say() { printf 'toolchains: %s\n' "$*" >&2; }
lacks() { say "$*"; missing=1; }

# apt PACKAGE...
apt() {
  [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1 || return 1
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >/dev/null 2>&1 && return
  apt-get update -qq >&2 && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >&2
}

have_c() { command -v clang >/dev/null 2>&1 && command -v wasm-ld >/dev/null 2>&1; }
# has_target CARGO RUSTC
has_target() {
  command -v "$1" >/dev/null 2>&1 && command -v "$2" >/dev/null 2>&1 &&
    [ -d "$("$2" --print sysroot 2>/dev/null)/lib/rustlib/wasm32-unknown-unknown/lib" ]
}
# As the tests look for it: those on the path, else Debian's beside them.
have_rust() { has_target cargo rustc || has_target /usr/bin/cargo /usr/bin/rustc; }
have_as() { cmp -s "$root/sdk/assemblyscript/package-lock.json" "$root/sdk/assemblyscript/node_modules/.installed"; }

setup_c() {
  say "installing clang and lld"
  apt clang lld && have_c || lacks "clang and wasm-ld are not installed: install them (Debian: apt-get install clang lld) to build and test the C SDK"
}

setup_rust() {
  if command -v rustup >/dev/null 2>&1; then
    say "adding the target wasm32-unknown-unknown to Rust"
    timeout 120 rustup target add wasm32-unknown-unknown >/dev/null 2>&1 || true
  fi
  have_rust && return
  say "installing Debian's Rust with its WebAssembly target"
  apt rustc cargo libstd-rust-dev-wasm32 lld || true
  have_rust && return
  lacks "no Rust compiler has the target wasm32-unknown-unknown: run rustup target add wasm32-unknown-unknown (Debian: apt-get install rustc cargo libstd-rust-dev-wasm32) to build and test the Rust SDK"
}

setup_as() {
  command -v npm >/dev/null 2>&1 || { lacks "npm is not installed and is needed to build and test the AssemblyScript SDK; on Debian: apt-get install npm"; return; }
  say "installing the AssemblyScript compiler with npm"
  (cd "$root/sdk/assemblyscript" && npm ci --silent --no-audit --no-fund --update-notifier=false >&2) ||
    { lacks "npm could not install the AssemblyScript compiler (its message is above)"; return; }
  cp "$root/sdk/assemblyscript/package-lock.json" "$root/sdk/assemblyscript/node_modules/.installed"
}

have_c || setup_c
have_rust || setup_rust
have_as || setup_as
exit $missing
