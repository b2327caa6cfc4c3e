"""Backends: the APIs through which models are asked.

A backend is a module with `ENDPOINT` (its address and the variables that hold its key; None without a network) and
`answer(call, deadline, outcome)`, which fills in the outcome or raises JudgeError. To add one, write the module and add

- a line to `BACKENDS`,
- a family with an empty prefix to `config/judges/models.json`,
- the name to the choices of `judge.backend` in `config/settings.schema.json`,
- a line to the table in `tests/kernel/judge/test_contract.py`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Protocol, cast

if TYPE_CHECKING:
    from ...clock import Deadline
    from ..calls import CallOutcome, JudgeCall
    from ..credentials import Endpoint

BACKENDS = {"anthropic": "anthropic", "openai": "openai", "gemini": "gemini", "scripted": "scripted"}


class Backend(Protocol):
    """The interface of a backend's module."""

    ENDPOINT: Endpoint | None

    def answer(self, call: JudgeCall, deadline: Deadline, outcome: CallOutcome) -> None:
        """Answer a call by filling in its outcome. Raises JudgeError."""


def load_backend(name: str) -> Backend:
    """Return the backend of that name; the settings' schema allows no other."""
    return cast("Backend", import_module("." + BACKENDS[name], __package__))
