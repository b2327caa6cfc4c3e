"""What can go wrong with an interview, each said in one line."""

from __future__ import annotations

__all__ = ["BadInput", "ConfigError", "InterviewError"]


class InterviewError(RuntimeError):
    """An interview that cannot be used as asked: unknown, ended, damaged, or not the only one."""


class BadInput(InterviewError):
    """Standard input that is no answer: what was expected and what was found."""


class ConfigError(InterviewError):
    """A table or a pack that cannot be used: file, key, what was expected, what was found."""

    def __init__(self, place: str, key: str, expected: str, got: object) -> None:
        text = repr(got)
        short = text if len(text) <= 80 else text[:77] + "..."
        super().__init__("%s: %s: expected %s, got %s" % (place, key, expected, short))
