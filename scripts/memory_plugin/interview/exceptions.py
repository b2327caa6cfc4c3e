"""The exceptions of interviews; the text of each is one line for the user."""

from __future__ import annotations

__all__ = ["ConfigError", "InterviewError", "InvalidAnswer"]


class InterviewError(RuntimeError):
    """An interview that cannot be used as asked: unknown, ended, damaged, or ambiguous."""


class InvalidAnswer(InterviewError):
    """Input that is not what the command expects; the text says what was expected and what was found."""


class ConfigError(InterviewError):
    """A scoring table, pack or option that cannot be used; the text names place, key, expected and found."""

    def __init__(self, place: str, key: str, expected: str, got: object) -> None:
        text = repr(got)
        short = text if len(text) <= 80 else text[:77] + "..."
        super().__init__("%s: %s: expected %s, got %s" % (place, key, expected, short))
