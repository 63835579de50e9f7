#!/bin/sh
# Creates or refreshes .venv from requirements.lock; does nothing when .venv already is what the lock says.
#   sh workflow/env.sh TORCH_REQUIREMENT        (called by `make env`)
# Read from the environment: PYTHON (the interpreter to build on, default python3), TORCH_INDEX (package index that holds
# the torch build you want, default: pip's own), PIP_FIND_LINKS and PIP_INDEX_URL as pip knows them.
set -eu

torch=$1
python=${PYTHON:-python3}
here=$(pwd -P)
venv=.venv
stamp=$venv/.stamp
unfinished=$venv/.unfinished

# What the environment was made of and where: a moved folder needs new scripts, another lock other packages.
# Second line: the index torch came from; who names none later keeps that build.
wanted="$torch $(cksum < requirements.lock) $here"
index=$(sed -n 2p "$stamp" 2>/dev/null) || index=
if [ -x "$venv/bin/python" ] && [ "$(sed -n 1p "$stamp" 2>/dev/null)" = "$wanted" ] &&
    [ "${TORCH_INDEX:-$index}" = "$index" ]; then exit 0; fi

fail() { printf '%s\n' "$@" >&2; exit 2; }

command -v "$python" >/dev/null 2>&1 ||
    fail "make env: '$python' is not on the PATH: install Python 3.11 or newer, or name yours: make env PYTHON=python3.12"
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
    fail "make env: $("$python" --version 2>&1) is too old, the kit needs 3.11 or newer: make env PYTHON=python3.12"
"$python" -c 'import venv, ensurepip' 2>/dev/null ||
    fail "make env: '$python' cannot create environments (module venv or ensurepip is missing):" \
         "install it, on Debian and Ubuntu with: apt-get install python3-venv"

if [ -e "$unfinished" ]; then
    echo "make env: the last installation was cut short: building $venv anew"
    rm -rf "$venv"
elif [ -d "$venv" ] && ! grep -qsF "$here/$venv" "$venv/bin/activate"; then
    echo "make env: $venv was made in another folder: building it anew"
    rm -rf "$venv"
    TORCH_INDEX=${TORCH_INDEX:-$index}
fi
rm -f "$stamp"
mkdir -p "$venv"
: > "$unfinished"
echo "make env: installing the packages of requirements.lock into $venv (about 2.7 GB; minutes)"
"$python" -m venv "$venv"
inside=$venv/bin/python

# torch is its own step: its builds (CPU, CUDA) share a version but not a hash, so no lock can name them all; a named
# index replaces a build that is already there.
with_pip() {
    "$inside" -m pip install ${TORCH_INDEX:+--force-reinstall --index-url "$TORCH_INDEX"} "$torch" &&
    echo "make env: $torch is there, now the other packages" &&
    "$inside" -m pip install -q --require-hashes --no-deps -r requirements.lock &&
    "$inside" -m pip install -q --no-deps --no-build-isolation -e .
}

# uv does the same in a fifth of the time, but reads none of pip's settings.
with_uv() {
    source=${PIP_INDEX_URL:+--default-index "$PIP_INDEX_URL"}
    links=${PIP_FIND_LINKS:+--find-links "$PIP_FIND_LINKS"}
    set -- uv pip install -q --python "$inside"
    # shellcheck disable=SC2086  # $source and $links are an option and its value
    if [ -n "${TORCH_INDEX:-}" ]; then
        "$@" $links --reinstall --default-index "$TORCH_INDEX" "$torch"
    else
        "$@" $links $source "$torch"
    fi &&
    "$@" $links $source --require-hashes --no-deps -r requirements.lock &&
    "$@" --no-deps --no-build-isolation -e .
}

if command -v uv >/dev/null 2>&1 && uv --version >/dev/null 2>&1; then
    with_uv || { echo "make env: uv did not manage (reason above): going on with pip"; with_pip; }
else
    with_pip
fi || { rm -f "$unfinished"; fail "make env: the installation failed (reason above); make env goes on from here"; }
rm -f "$unfinished"
"$inside" -m pip check
printf '%s\n' "$wanted" "${TORCH_INDEX:-$index}" > "$stamp.new"
mv "$stamp.new" "$stamp"
