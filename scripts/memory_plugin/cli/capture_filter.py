"""Which prompts capture may read: those that a person typed and that do not opt out of memory."""

from __future__ import annotations

from ..recall.gate import load_gate

__all__ = ["may_use"]


def may_use(prompt: str) -> bool:
    """Return whether a person typed the prompt and no part of it opts out."""
    return load_gate().is_typed(prompt) and not load_gate().opts_out(prompt)
