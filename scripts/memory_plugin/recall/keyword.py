"""Candidates where SQLite was built without FTS5: the analysed texts themselves are searched, one after the other."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..kernel.clock import Deadline
    from ..kernel.sqlite import Connection
    from .model import Model
    from .weighting import Term

# Documents between two looks at the clock.
_STRIDE = 256


def keyword_candidates(
    connection: Connection, terms: list[Term], model: Model, only_injectable: bool, deadline: Deadline | None
) -> list[int]:
    """The row ids of the documents that hold the heaviest terms, best first.  Raises TimeoutError when the deadline passes."""
    wanted = [(" " + term.stem + "~", term.weight) for term in terms if term.strong + term.weak]
    found: list[tuple[float, int]] = []
    rows = connection.execute(
        "SELECT v.rowid, v.title || v.tags || v.files || v.asked_as, v.body FROM vectors v JOIN documents d ON d.rowid = v.rowid "
        "WHERE d.injectable >= ?",
        (int(only_injectable),),
    )
    for at, (rowid, head, body) in enumerate(rows):
        if at % _STRIDE == 0 and deadline is not None and deadline.remaining() <= 0:
            raise TimeoutError("ranking ran out of time")
        total = 0.0
        for text, weight in wanted:
            if text in head:
                total += weight * model.ranking["strong"]
            elif text in body:
                total += weight
        if total:
            found.append((-total, rowid))
    found.sort()
    return [rowid for _, rowid in found[: model.ranking["pool"]]]
