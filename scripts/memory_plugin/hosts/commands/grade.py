"""`memory grade`: one reply judged, as the Stop hook hands it over on standard input; for the plugin itself."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from ...kernel.clock import Deadline
from ...kernel.judge.judge import Judge
from ...kernel.native import loads
from ...responses.evidence import turn_so_far
from ...responses.judged import SWITCHED_OFF_BY, Order, grade_reply
from ..event_fields import identity, path
from ..events import note

if TYPE_CHECKING:
    import argparse

    from ..session_context import Session

__all__ = ["EXAMPLES", "HELP", "configure", "run"]

DONE, FAILED, USAGE = 0, 1, 2
HELP = "judge one reply that the Stop hook hands over (used by the plugin itself)"
EXAMPLES = """\
  memory grade < order.json
"""
_MAX_BYTES = 1 << 20


def configure(parser: argparse.ArgumentParser) -> None:
    """No arguments of its own."""


def run(arguments: argparse.Namespace, session: Session) -> int:  # noqa: ARG001  (every command is given the same)
    """Judge the reply; what comes of it goes to the ledgers, and a refusal that ends judging for a session to the events, once."""
    row = _read()
    order = None if row is None else _order(row)
    if row is None or order is None:
        session.console.error("expected one order of the Stop hook on standard input")
        return USAGE
    settings, places = session.settings, session.places
    user, calls = turn_so_far(path(row.get("transcript")))
    off = session.taint.why_off
    if not off and settings.text("scoring.mode") != "hybrid":
        off = "scoring.mode is not hybrid"
    judge = Judge(
        "scoring", settings.text("scoring.judge.model"), places, settings, order.session, off=off, helper=True
    )
    deadline = Deadline(settings.integer("scoring.judge.timeout_ms") / 1000)
    failure = grade_reply(order, user, calls, judge, places, settings, deadline)
    if failure in SWITCHED_OFF_BY:
        note(
            places,
            order.session,
            "Stop",
            "judge",
            "no judge for the replies of this session: %s; see: memory judge check" % failure,
        )
    return FAILED if failure else DONE


def _read() -> dict[str, Any] | None:
    try:
        row = loads(sys.stdin.buffer.read(_MAX_BYTES).decode("ascii"))
    except ValueError:
        return None
    return row if isinstance(row, dict) else None


def _order(row: dict[str, Any]) -> Order | None:
    """The order in a row; None when a field is missing or of another type."""
    kinds: dict[str, tuple[type, ...]] = {
        "id": (str,), "session": (str,), "prompt_id": (str,), "query_type": (str,), "threshold": (int,), "padding": (int,),
        "density": (float, int, type(None)), "why": (str,), "replies": (int,), "drifted": (list,), "severity": (str,),
        "matches": (list,), "head": (str,), "tail": (str,), "tail_at": (int,),
    }  # fmt: skip
    if any(not isinstance(row.get(name, ...), kind) for name, kind in kinds.items()):
        return None
    if not all(_is_match(match) for match in row["matches"]) or not all(
        isinstance(name, str) for name in row["drifted"]
    ):
        return None
    return Order(**{name: row[name] for name in kinds})._replace(session=identity(row["session"]))


def _is_match(match: object) -> bool:
    return isinstance(match, list) and [type(part) for part in match] == [int, int, str]
