"""The `memory` plugin: recall for Claude Code that can be trusted."""

VERSION = "0.1.0"
