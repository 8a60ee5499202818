#!/bin/sh
# Installs what a task needs and the machine lacks: tools/setup.sh build|test|bench [--check]
#
# System packages come from apt when we are root or sudo works without a question; otherwise the exact command is
# printed and the script fails. `test` also makes the Python environment .venv. With everything there it takes a
# fraction of a second and asks no package index. --check only reports.
set -eu
cd "$(dirname "$0")/.."
what=${1:-build}
check=${2:-}

case $what in
  build) sections='build' ;;
  test) sections='build test' ;;
  bench) sections='build test bench' ;;
  *) echo "setup: unknown task '$what' (build, test, bench)" >&2; exit 2 ;;
esac

column=2
if [ -r /etc/os-release ] && grep -q '^ID=ubuntu' /etc/os-release; then column=3; fi

if ! command -v dpkg-query >/dev/null 2>&1; then
  echo "setup: this is no Debian or Ubuntu; install the equivalents of the packages in tools/packages.txt" >&2
  exit 1
fi

missing=
for section in $sections; do
  for package in $(awk -v s="$section" -v c="$column" '$1 == s { print $c }' tools/packages.txt); do
    program=${package%%=*}
    if [ "$program" != "$package" ]; then
      package=${package#*=}
      ! command -v "$program" >/dev/null 2>&1 || continue
    fi
    status=$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null || true)
    [ "$status" = installed ] || missing="$missing $package"
  done
done

if [ -n "$missing" ]; then
  install="apt-get install -y --no-install-recommends$missing"
  if [ "$check" = --check ]; then echo "setup: missing:$missing"; exit 1; fi
  if [ "$(id -u)" = 0 ]; then as_root=
  elif command -v sudo >/dev/null 2>&1 && sudo -n true 2>/dev/null; then as_root='sudo'
  else
    echo "setup: these packages are missing, and installing them needs root. Run:" >&2
    echo "  sudo sh -c 'apt-get update && $install'" >&2
    exit 1
  fi
  echo "setup: installing$missing"
  export DEBIAN_FRONTEND=noninteractive
  # An update that reaches only some of the configured sources is good enough if the install succeeds.
  $as_root apt-get -qq -o DPkg::Lock::Timeout=300 update || echo "setup: apt-get update was incomplete" >&2
  # shellcheck disable=SC2086
  $as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=300 \
    install -y --no-install-recommends $missing >/dev/null
fi

case $sections in *test*)
  wanted="$(cat tools/requirements-test.txt; python3 -c 'import sys; print(sys.version_info[:2])')"
  if [ "$(cat .venv/wanted 2>/dev/null)" != "$wanted" ]; then
    if [ "$check" = --check ]; then echo "setup: the Python environment .venv is missing or old"; exit 1; fi
    echo "setup: making the Python environment .venv"
    rm -rf .venv
    python3 -m venv .venv
    .venv/bin/python -m pip install -qq --disable-pip-version-check -r tools/requirements-test.txt
    printf '%s\n' "$wanted" > .venv/wanted
  fi ;;
esac
