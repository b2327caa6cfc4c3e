#!/bin/sh
# install_codex.sh: installs Codex CLI from npm into build/codex. No install scripts run: the platform package holds the native binary.
set -eu
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd -P)
folder=$here/../../build/codex
mkdir -p "$folder"
npm install --ignore-scripts --no-audit --no-fund --no-save --prefix "$folder" "@openai/codex@${1:-0.171.0}"
