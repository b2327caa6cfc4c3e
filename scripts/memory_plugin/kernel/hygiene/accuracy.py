"""Precision and recall of the rules on their own `hit` and `miss` examples, by kind."""

from __future__ import annotations

from typing import NamedTuple

from ..hygiene_choice import choose_packs, chosen_packs
from .rule_set import PACKS, files
from .scanner import scan
from .tables import strings, table


class Accuracy(NamedTuple):
    """One kind: the number of `hit` examples, how many are `found`, the number of `miss` examples, and the `false` alarms among them."""

    kind: str
    hits: int
    found: int
    misses: int
    false: int

    @property
    def precision(self) -> float:
        """Return the share of alarms that are right; 1.0 without alarms."""
        alarms = self.found + self.false
        return self.found / alarms if alarms else 1.0

    @property
    def recall(self) -> float:
        """Return the share of hits that are found."""
        return self.found / self.hits if self.hits else 1.0


def accuracy() -> list[Accuracy]:
    """Measure every kind on its examples, one at a time, with the rules of all packs."""
    before = chosen_packs()
    choose_packs(PACKS)
    try:
        return _measured()
    finally:
        choose_packs(before)


def _measured() -> list[Accuracy]:
    figures: dict[str, Accuracy] = {}
    for name in files():
        entries = table(name)["rules"]
        for entry in entries if isinstance(entries, list) else ():
            kind = str(entry.get("kind", "secret"))
            before = figures.get(kind, Accuracy(kind, 0, 0, 0, 0))
            hits, misses = (_alarms(entry, field, kind) for field in ("hit", "miss"))
            figures[kind] = Accuracy(
                kind,
                before.hits + len(hits),
                before.found + sum(hits),
                before.misses + len(misses),
                before.false + sum(misses),
            )
    return list(figures.values())


def _alarms(entry: dict[str, object], field: str, kind: str) -> list[bool]:
    """Return for each example whether it contains a finding of the kind."""
    examples = entry.get(field)
    texts = (
        "".join(strings([text] if isinstance(text, str) else text, field))
        for text in (examples if isinstance(examples, list) else ())
    )
    return [any(finding.kind == kind for finding in scan(text, [kind], "memory")) for text in texts]
