#!/bin/sh
# Installs the real client below build/client/VERSION, from npm and without its install scripts: the native binary that
# its platform package holds is used as it is.  `install_client.sh [VERSION]`: without one that of
# MEMORY_TEST_CLIENT_VERSION, else the tested one in version.txt.
set -eu
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd -P)
version=${1:-${MEMORY_TEST_CLIENT_VERSION:-$(cat "$here/version.txt")}}
folder=$here/../../build/client/$version
mkdir -p "$folder"
npm install --ignore-scripts --no-audit --no-fund --no-save --prefix "$folder" "@anthropic-ai/claude-code@$version"
