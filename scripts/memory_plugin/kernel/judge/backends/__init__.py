"""The forms in which models are asked.

A backend is a module with `ENDPOINT` (where it is reached and what holds its key; None for one that needs no network)
and `answer(call, deadline, outcome)`, which fills the outcome or raises JudgeError.  Adding one is that module, a line
in `BACKENDS`, and a line in the contract's table of tests.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Protocol, cast

if TYPE_CHECKING:
    from ...clock import Deadline
    from ..calls import CallOutcome, JudgeCall
    from ..credentials import Endpoint

__all__ = ["BACKENDS", "Backend", "load_backend"]

BACKENDS = {"anthropic": "anthropic", "openai": "openai", "gemini": "gemini", "scripted": "scripted"}


class Backend(Protocol):
    """What a backend's module offers."""

    ENDPOINT: Endpoint | None

    def answer(self, call: JudgeCall, deadline: Deadline, outcome: CallOutcome) -> None:
        """Fill the outcome of a call. Raises JudgeError."""


def load_backend(name: str) -> Backend:
    """Return the backend of that name; the settings' schema lets no other pass."""
    return cast("Backend", import_module("." + BACKENDS[name], __package__))
