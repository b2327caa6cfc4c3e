"""`memory score --deep`: one reply on all eight dimensions of the rubric, by the judge where there is one, by rules where they can tell."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ..kernel.clock import Deadline
from ..kernel.judge.judge import Judge
from ..kernel.judge.words import words_for
from ..responses.data import load_table
from ..responses.grading import Material, deep_question, opinion
from ..responses.query_type import AMBIGUOUS, load_query_types
from ..responses.rubric_rules import levels_by_rules

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..responses.signals import Signals
    from .session_context import Session

__all__ = ["Deep", "deep_score", "show_deep"]

DONE, FAILED = 0, 1


class Deep(NamedTuple):
    """The levels by dimension, who told them (`judge` or `rules`), and why no judge did, empty when one did."""

    levels: dict[str, int]
    told_by: str
    failure: str
    detail: str


def deep_score(user: str, text: str, calls: Sequence[str], signals: Signals, session: Session) -> Deep:
    """The levels of one reply. Without a judge only those dimensions that rules can tell."""
    settings = session.settings
    kind = load_query_types().classify(user)[0] if user else AMBIGUOUS
    off = session.taint.why_off
    model = settings.text("scoring.judge.model")
    judge = Judge("scoring", model, session.places, settings, session.id, off=off, helper=True)
    deadline = Deadline(settings.integer("scoring.judge.timeout_ms") / 1000)
    verdict = opinion(judge, deep_question(Material(kind, user, calls, text)), deadline)
    if verdict.values is not None:
        return Deep(verdict.values["levels"], "judge", "", "")
    return Deep(levels_by_rules(signals), "rules", verdict.failure, verdict.detail)


def show_deep(found: Deep, session: Session, as_json: bool) -> int:
    """Print it; 1 when the judge did not answer."""
    table = load_table("dimensions")
    if as_json:
        session.console.json(found._asdict())
        return FAILED if found.failure else DONE
    rows = []
    for name in table["deep"]:
        dimension, level = table["dimensions"][name], found.levels.get(name)
        shown = "not judged" if level is None else "%d of %d" % (level, dimension["most"])
        rows.append([name, dimension["name"], shown, "" if level is None else dimension["levels"][level]])
    session.console.table(["", "dimension", "level", "meaning"], rows)
    if found.told_by == "rules":
        words = words_for(found.failure, "scoring")
        session.console.line()
        session.console.line("Told by rules alone. %s %s" % (words.says, words.do))
        return FAILED
    return DONE
