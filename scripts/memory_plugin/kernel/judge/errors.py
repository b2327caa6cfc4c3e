"""The result of a call to a judge; its failures: the exception, and what each failure means, from `config/judges/failures.json`."""

from __future__ import annotations

from typing import NamedTuple

from ..data import load_data

_FEATURE = "FEATURE"


class JudgeError(Exception):
    """Raised for a question that could not be answered.

    `name` is a name in `config/judges/failures.json` or `http_NNN`. `detail` explains it without quoting keys or the judged text. `wait` is
    how many seconds the server asks to wait, None if it does not say. `unsent` says that the server never had the whole request.
    """

    def __init__(
        self, name: str, detail: str = "", wait: float | None = None, *, unsent: bool = False
    ) -> None:
        super().__init__(name)
        self.name = name
        self.detail = detail
        self.wait = wait
        self.unsent = unsent


class CallOutcome:
    """The result of one call: the model's `text`, or None and the name of a `failure`.

    `is_free` says that the provider charges nothing: it never had the whole request, or answered with an error status. `parts` are the
    parts of the request that the server rejected by name: the caller may ask once more without them.
    """

    __slots__ = ("detail", "failure", "is_free", "ms", "parts", "text", "tokens_in", "tokens_out", "wait")

    def __init__(self, failure: str = "", ms: float = 0.0) -> None:
        self.text: str | None = None
        self.failure = failure
        self.detail = ""
        self.is_free = False
        self.parts: frozenset[str] = frozenset()
        self.wait: float | None = None
        self.tokens_in: int | None = None
        self.tokens_out: int | None = None
        self.ms = ms


class FailureText(NamedTuple):
    """What a failure means, and what the user can do about it."""

    says: str
    do: str


def explain_failure(failure: str, feature: str) -> FailureText:
    """Return the explanation of a failure's name, for a question that a feature asked."""
    table = load_data("judges", "failures")["failures"]
    entry = table.get(failure) or table["http" if failure.startswith("http_") else "error"]
    return FailureText(entry["says"], entry["do"].replace(_FEATURE, feature))


def setup_options(feature: str) -> list[str]:
    """Return the ways to get a judge for a feature, for a user without a key."""
    return [way.replace(_FEATURE, feature) for way in load_data("judges", "failures")["ways"]]
