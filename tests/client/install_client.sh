#!/bin/sh
# install_client.sh [VERSION]: installs the real client from npm into build/client/VERSION.
# The default version is MEMORY_TEST_CLIENT_VERSION, else the one in version.txt. No install scripts run: the platform package
# holds the native binary.
set -eu
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd -P)
version=${1:-${MEMORY_TEST_CLIENT_VERSION:-$(cat "$here/version.txt")}}
folder=$here/../../build/client/$version
mkdir -p "$folder"
npm install --ignore-scripts --no-audit --no-fund --no-save --prefix "$folder" "@anthropic-ai/claude-code@$version"
