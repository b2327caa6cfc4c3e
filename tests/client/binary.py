"""Find the real client: the program in CLAUDE_BIN, or the one that install_client.sh installed."""

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
    """Return the path of the client, or None if there is none."""
    chosen = os.environ.get("CLAUDE_BIN")
    if chosen:
        return chosen
    pattern = os.path.join(BUILD, version(), "node_modules", "@anthropic-ai", "claude-code-*", "claude")
    paths = sorted(glob.glob(pattern))
    return os.path.abspath(paths[0]) if paths else None
