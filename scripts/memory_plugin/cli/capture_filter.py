"""Which prompts capture may look at: those that a person typed and that do not opt out of memories."""

from __future__ import annotations

from ..recall.gate import load_gate

__all__ = ["may_use"]


def may_use(prompt: str) -> bool:
    """Return whether a person typed a prompt and did not opt out, anywhere in it."""
    return load_gate().is_typed(prompt) and not load_gate().opts_out(prompt)
