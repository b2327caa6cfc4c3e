"""Define the exceptions of interviews. The text of each is one line for the user."""

from __future__ import annotations

_MAX_SHOWN = 80


class InterviewError(RuntimeError):
    """An interview cannot be used, because it is unknown, ended, damaged or ambiguous."""


class InvalidAnswer(InterviewError):
    """A command's input is invalid; the text says what was expected and what was found."""


class ConfigError(InterviewError):
    """A scoring table, pack or option is invalid; the text names source (a path or an option), key, expected and found."""

    def __init__(self, source: str, key: str, expected: str, found: object) -> None:
        shown = repr(found)
        if len(shown) > _MAX_SHOWN:
            shown = shown[: _MAX_SHOWN - 3] + "..."
        super().__init__("%s: %s: expected %s, got %s" % (source, key, expected, shown))
