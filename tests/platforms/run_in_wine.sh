#!/usr/bin/env bash
# Runs pytest in Python for Windows, which Wine runs, with a home folder on drive C whose name has a space and an umlaut:
# run_in_wine.sh PYTHON.EXE [PYTEST OPTIONS]
set -euo pipefail
python=$1
work=$(mktemp -d)
export WINEPREFIX=$work/prefix HOME=$work WINEDEBUG=-all WINEDLLOVERRIDES="mscoree,mshtml=" LC_ALL=C.UTF-8
trap 'wineserver -k; rm -rf "$work"' EXIT
packages=$(dirname "$python")/packages
export PYTHONPATH=Z:${packages//\//\\}
mkdir "$WINEPREFIX"
wineserver -p &>/dev/null # a server that stays; it would keep a pipe open
wine winecfg -v win10 &>/dev/null </dev/null
# Python for Windows needs pipes for its standard streams.
wine "$python" -m pytest -q -p no:cacheprovider --basetemp 'C:\Jörg Müller' "${@:2}" </dev/null 2>&1 | cat
