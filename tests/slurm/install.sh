#!/usr/bin/env bash
# Installs Debian's Slurm for `make test-slurm` where it is not there; starts nothing. Says why where it cannot: the tests then skip.
set -eu
if command -v slurmctld >/dev/null && command -v munged >/dev/null; then exit 0; fi
if [ "$(id -u)" != 0 ]; then echo "Slurm is not installed: that needs root"; exit 0; fi
if ! command -v apt-get >/dev/null; then echo "Slurm is not installed: that needs apt-get (Debian)"; exit 0; fi
export DEBIAN_FRONTEND=noninteractive
# packages start their daemons as they are installed; ours are started by the tests, with a configuration of their own
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
    printf '#!/bin/sh\nexit 101\n' >"$policy"
    chmod +x "$policy"
    trap 'rm -f "$policy"' EXIT
fi
get() { timeout 600 apt-get -qq -o DPkg::Lock::Timeout=120 -o Acquire::Retries=1 -o Acquire::http::Timeout=30 "$@" </dev/null 2>&1; }
said=$(get update && get install -y --no-install-recommends slurmctld slurmd slurm-client munge) ||
    echo "Slurm is not installed: apt-get failed: $(printf '%s' "$said" | tail -n 1)"
