"""What one call came to, before its text is read; filled in by the thread that makes the call."""

from __future__ import annotations

__all__ = ["Failed", "Outcome"]


class Failed(Exception):
    """A call that brought no text: the failure's name, more in words, and how long the server asks to wait."""

    def __init__(self, name: str, detail: str = "", wait: float | None = None) -> None:
        super().__init__(name)
        self.name = name
        self.detail = detail
        self.wait = wait


class Outcome:
    """One call.

    `text` is the model's, or None with `failure` named.  `sent` is set before the first byte of the request leaves:
    from then on the provider may charge for it, unless `refused` (an error status) says that it did not.
    `parts` are those of the request that the server refused by name, `wait` how many seconds it asks for.
    """

    __slots__ = (
        "detail", "done", "failure", "ms", "parts", "refused", "sent", "text", "tokens_in", "tokens_out", "wait",
    )  # fmt: skip

    def __init__(self) -> None:
        self.text: str | None = None
        self.failure = ""
        self.detail = ""
        self.sent = False
        self.refused = False
        self.parts: frozenset[str] = frozenset()
        self.done = False
        self.wait: float | None = None
        self.tokens_in: int | None = None
        self.tokens_out: int | None = None
        self.ms = 0.0

    def fail(self, name: str, detail: str = "", wait: float | None = None) -> Outcome:
        """This outcome, failed for that reason."""
        self.text, self.failure, self.detail, self.wait = None, name, detail, wait
        return self
