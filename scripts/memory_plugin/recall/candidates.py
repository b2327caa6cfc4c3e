"""The documents worth scoring: found by FTS5 in order of impact, within a budget of postings, or else by searching the texts.

Each term has two lists of postings, one of the documents that hold it in a strong field and one of those that hold it in the body alone.
The lists are read heaviest first and each adds its weight to its documents (impact-ordered retrieval: V. N. Anh and A. Moffat, "Pruned
query evaluation using pre-computed impacts", SIGIR 2006), so that the budget runs out over common words and not over telling ones.
"""

from __future__ import annotations

from .index_file import POSTINGS
from .index_terms import STRONG_MARK

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..kernel.clock import Deadline
    from ..kernel.sqlite import Connection
    from .model import Model
    from .query import Term

# Documents between two checks of the deadline.
_STRIDE = 256


def candidates(
    connection: Connection, terms: list[Term], model: Model, only_injectable: bool, deadline: Deadline | None
) -> list[int]:
    """Return the row ids of the best documents by the weights of their lists, best first. Raises TimeoutError when the deadline passes."""
    tables = (POSTINGS[True],) if only_injectable else (POSTINGS[True], POSTINGS[False])
    found: dict[int, float] = {}
    left = model.ranking["postings"]
    for weight, length, token in _lists(terms, model.ranking["strong"]):
        left -= length
        if left < 0 and found:
            break
        if deadline is not None and deadline.remaining() <= 0:
            raise TimeoutError("ranking ran out of time")
        for table in tables:
            rows = connection.execute("SELECT rowid FROM %s WHERE %s MATCH ?" % (table, table), (token,))
            for (rowid,) in rows:
                found[rowid] = found.get(rowid, 0.0) + weight
    return sorted(found, key=lambda rowid: (-found[rowid], rowid))[: model.ranking["pool"]]


def _lists(terms: list[Term], strong: float) -> list[tuple[float, int, str]]:
    """Return (weight, number of documents, FTS5 query) of every list that is not empty, heaviest first."""
    lists = [
        (term.weight * strong, term.strong, '"%s"' % (term.stem + STRONG_MARK))
        for term in terms
        if term.strong
    ]
    lists += [(term.weight, term.weak, '"%s"' % term.stem) for term in terms if term.weak]
    return sorted(lists, key=lambda item: (-item[0], item[2]))


def keyword_candidates(
    connection: Connection, terms: list[Term], model: Model, only_injectable: bool, deadline: Deadline | None
) -> list[int]:
    """Return the row ids of the documents that hold the heaviest terms, best first, without FTS5. Raises TimeoutError."""
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
