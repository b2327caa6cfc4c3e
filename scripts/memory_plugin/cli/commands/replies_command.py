"""`memory replies`: the noun of three commands, without one of its own."""

from __future__ import annotations

HELP = "score replies, show their scores over time, and tune the filler rules"
EXAMPLES = """\
  memory replies score --last
  memory replies history
  memory replies tune
"""
