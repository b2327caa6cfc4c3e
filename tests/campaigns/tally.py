"""The counts of a campaign: runs, distinct fault sites and states, and broken promises with examples."""

from __future__ import annotations

from collections import Counter
from time import monotonic

PROMISES = ("exit", "traceback", "output", "record", "trust", "secret", "hang")


class Tally:
    """The counts of one campaign; after `end`, by the monotonic clock, it starts no further run."""

    def __init__(self, name: str, seconds: float) -> None:
        self.name = name
        self.start = monotonic()
        self.end = self.start + seconds
        self.runs = self.kills = self.inputs = 0
        self.sites: set[str] = set()
        self.states: set[str] = set()
        self.broken: Counter[str] = Counter()
        self.examples: dict[str, list[str]] = {}
        self.extra: Counter[str] = Counter()

    @property
    def is_over(self) -> bool:
        """Return whether the campaign's time is over."""
        return monotonic() >= self.end

    def fail(self, promise: str, what: str) -> None:
        """Count a broken promise, and keep the first descriptions of each promise as examples."""
        assert promise in PROMISES, promise
        self.broken[promise] += 1
        examples = self.examples.setdefault(promise, [])
        if len(examples) < 12:
            examples.append(what[:600])

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
            "seconds": round(monotonic() - self.start, 1),
        }
