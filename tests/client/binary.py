"""The real client's binary: given by CLAUDE_BIN, or installed by install_client.sh."""

from __future__ import annotations

import glob
import os

HERE = os.path.dirname(os.path.abspath(__file__))
BUILD = os.path.join(HERE, "..", "..", "build", "client")


def version() -> str:
    """Return the version to test with: MEMORY_TEST_CLIENT_VERSION, else the one in version.txt."""
    with open(os.path.join(HERE, "version.txt"), encoding="utf-8") as file:
        return os.environ.get("MEMORY_TEST_CLIENT_VERSION") or file.read().strip()


def binary() -> str | None:
    """Return the path of the client, or None when there is none."""
    given = os.environ.get("CLAUDE_BIN")
    if given:
        return given
    pattern = os.path.join(BUILD, version(), "node_modules", "@anthropic-ai", "claude-code-*", "claude")
    found = sorted(glob.glob(pattern))
    return os.path.abspath(found[0]) if found else None
