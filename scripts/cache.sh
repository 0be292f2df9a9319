# Sourced by setup.sh, peers.sh and load-tools.sh, which set `name`: where things go in the cache folder, one run at a time, and how
# a Python environment is made. It is not a script of its own.

say() { printf '%s: %s\n' "$name" "$*" >&2; }
die() { say "$*"; exit 1; }

# need COMMAND HINT PACKAGE
need() { command -v "$1" >/dev/null 2>&1 || die "$1 is not installed and is needed to $2; on Debian: apt-get install $3"; }

# room GIGABYTES WHAT: ends with a message when the cache's disk has less left.
room() {
  local free
  free=$(df -Pk "$cache" | awk 'NR == 2 { print int($4 / 1048576) }')
  [ "$free" -ge "$1" ] || die "$2 needs $1 GB, and $cache has $free GB left"
}

# find_cache: cache, which is SLUICE_CACHE as an absolute path.
find_cache() {
  if [ -z "${SLUICE_CACHE:-}" ]; then
    [ -n "${XDG_CACHE_HOME:-${HOME:-}}" ] || die "neither SLUICE_CACHE nor HOME is set: set SLUICE_CACHE to a folder"
    SLUICE_CACHE=${XDG_CACHE_HOME:-$HOME/.cache}/sluice
  fi
  case $SLUICE_CACHE in /*) ;; *) SLUICE_CACHE=$PWD/$SLUICE_CACHE ;; esac
  export SLUICE_CACHE
  cache=$SLUICE_CACHE
}

# open_cache: cache and tmp, with a lock that is held until the script ends. Children keep the lock's descriptor: when only the
# script is killed, the next one waits for what it left running.
open_cache() {
  find_cache
  mkdir -p "$cache" || die "cannot create $cache; set SLUICE_CACHE to a folder that can be written"
  need flock "run one at a time" util-linux
  exec 9>"$cache/.lock-$name" || die "cannot write in $cache; set SLUICE_CACHE to a folder that can be written"
  flock -n 9 || { say "another $name is running; waiting for it"; flock 9; }
  tmp=$cache/.tmp-$name
  rm -rf "$tmp"
  mkdir -p "$tmp"
  trap 'rm -rf "$tmp"' EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM
}

# python_from MINOR: the first Python 3 of at least that minor version. PYTHON names one.
python_from() {
  local p
  for p in "${PYTHON:-}" python3 python3.12 python3.13 python3.14 "${HOME:-}"/.pyenv/versions/3.1[2-4]*/bin/python; do
    if [ -n "$p" ] && "$p" -c "import sys, venv; sys.exit(sys.version_info < (3, $1))" 2>/dev/null; then
      echo "$p"
      return
    fi
  done
  die "no Python 3.$1 or later with venv is installed; set PYTHON to one"
}

have_env() { cmp -s "$2" "$1/.installed"; }

# python_env FOLDER LIST MINOR: an environment with exactly the packages of LIST, which names every one of them, so that nothing is
# resolved. An environment that is not whole, or of another list, is made anew.
python_env() {
  local python
  have_env "$1" "$2" && return
  python=$(python_from "$3")
  rm -rf "$1"
  "$python" -m venv "$1" >&2 || die "$python cannot make a virtual environment; on Debian: apt-get install python3-venv"
  "$1/bin/python" -m pip install -q --disable-pip-version-check --no-deps -r "$2" >&2 ||
    die "pip could not install ${2##*/} (its message is above); run this again"
  cp "$2" "$1/.installed"
}
