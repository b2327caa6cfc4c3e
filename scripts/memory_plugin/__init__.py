"""The `memory` plugin: recall for Claude Code that can be trusted."""

VERSION = "0.2.0"
