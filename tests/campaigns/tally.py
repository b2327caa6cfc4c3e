"""What a campaign counts: runs, distinct fault sites and states, and each broken promise with the run that broke it."""

from __future__ import annotations

from collections import Counter
from time import monotonic

PROMISES = ("exit", "traceback", "output", "record", "trust", "secret", "hang")


class Tally:
    """The counts of one campaign; `end` is the time, by the monotonic clock, after which it starts nothing more."""

    def __init__(self, name: str, seconds: float) -> None:
        self.name = name
        self.begun = monotonic()
        self.end = self.begun + seconds
        self.runs = self.kills = self.inputs = 0
        self.sites: set[str] = set()
        self.states: set[str] = set()
        self.broken: Counter[str] = Counter()
        self.examples: dict[str, list[str]] = {}
        self.extra: Counter[str] = Counter()

    @property
    def is_over(self) -> bool:
        """Whether the time of this campaign is used up."""
        return monotonic() >= self.end

    def fail(self, promise: str, what: str) -> None:
        """Count a broken promise and keep the first few descriptions of each kind."""
        assert promise in PROMISES, promise
        self.broken[promise] += 1
        kept = self.examples.setdefault(promise, [])
        if len(kept) < 12:
            kept.append(what[:600])

    def report(self) -> dict[str, object]:
        """Return the counts as a JSON object."""
        return {
            "campaign": self.name,
            "runs": self.runs,
            "kills": self.kills,
            "inputs": self.inputs,
            "sites": len(self.sites),
            "states": len(self.states),
            "broken": {promise: self.broken[promise] for promise in PROMISES},
            **({"also": dict(self.extra)} if self.extra else {}),
            "seconds": round(monotonic() - self.begun, 1),
        }
