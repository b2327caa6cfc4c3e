"""The `memory` plugin: recall for Claude Code that can be trusted."""

VERSION = "1.0.0"
