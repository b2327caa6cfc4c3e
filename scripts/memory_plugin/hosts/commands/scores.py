"""`memory scores`: how replies have been scored: the trend, by model, by project, by pattern, and what corrections did."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...kernel.clock import iso, now
from ...replies.effect import Effect, measure_effect
from ...replies.history import Group, Scored, by_day, grouped, missed_by_rules, patterns, read_scores

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from ..session_context import Session

__all__ = ["EXAMPLES", "HELP", "configure", "run"]

DONE, USAGE = 0, 2

HELP = "the trend of the scores of replies, by model, project and pattern; what corrections did"
EXAMPLES = """\
  memory scores
  memory scores --here --days 7
  memory scores --effect
  memory scores --json
"""
_DAYS = 30
_SHOWN = 8
_COLUMNS = 30
_STEPS = "\u2581\u2582\u2583\u2584\u2585\u2586\u2587\u2588"


def configure(parser: argparse.ArgumentParser) -> None:
    """How far back, and of which project."""
    parser.add_argument(
        "--days",
        type=int,
        default=_DAYS,
        metavar="N",
        help="the last N days, 1 to 3650 (default: %d)" % _DAYS,
    )
    parser.add_argument("--here", action="store_true", help="this project only")
    parser.add_argument(
        "--effect", action="store_true", help="what corrections did, against drifts left uncorrected"
    )


def run(arguments: argparse.Namespace, session: Session) -> int:
    """Print it."""
    if not 1 <= arguments.days <= 3650:
        session.console.error("--days: expected 1 to 3650, got %d" % arguments.days)
        return USAGE
    since = iso(now() - arguments.days * 86400)
    if arguments.effect:
        return _show_effect(measure_effect(session.places, since), arguments, session)
    scores, bad = read_scores(session.places, since, session.places.project_key if arguments.here else "")
    if arguments.json:
        session.console.json(_record(scores, bad))
    elif not scores:
        session.console.line(
            "No reply was scored in the last %d days. Scores begin with the next reply of Claude's."
            % arguments.days
        )
    else:
        _show(scores, bad, session)
    return DONE


def _record(scores: list[Scored], bad: int) -> dict[str, Any]:
    tables = {
        "days": by_day(scores),
        "models": grouped(scores, lambda one: one.model),
        "projects": grouped(scores, lambda one: one.project),
        "gates": grouped(scores, lambda one: one.gate),
    }
    return {
        "replies": len(scores),
        "lines_left_out": bad,
        **{name: [_as_json(group) for group in groups] for name, groups in tables.items()},
        "patterns": [{"id": name, "matches": count} for name, count in patterns(scores)],
        "audit": missed_by_rules(scores)._asdict(),
    }


def _as_json(group: Group) -> dict[str, Any]:
    shares = {name: getattr(group, name)._asdict() for name in ("padded", "drifted", "escalated")}
    return {"name": group.name, "replies": group.replies, "density": group.density, **shares}


def _show(scores: list[Scored], bad: int, session: Session) -> None:
    console = session.console
    (total,) = grouped(scores, lambda _: "all")
    console.line(console.style("%d replies scored" % total.replies, "bold"))
    console.line("with filler:  %s" % (total.padded,))
    console.line("drifted:      %s" % (total.drifted,))
    console.line("escalated:    %s" % (total.escalated,))
    missed = missed_by_rules(scores)
    if missed.n:
        console.line("missed by rules, as far as the judged share of the others tells: %s" % (missed,))
    if bad:
        console.line("%d lines of the ledger could not be read" % bad)
    console.line()
    _plot(by_day(scores), session)
    for title, groups in (
        ("model", grouped(scores, lambda one: one.model)),
        ("project", grouped(scores, lambda one: one.project)),
    ):
        console.line()
        console.table(
            [title, "replies", "with filler", "drifted", "density"],
            [_row(group) for group in groups[:_SHOWN]],
        )
    found = patterns(scores)[:_SHOWN]
    if found:
        console.line()
        console.table(["pattern", "matches"], [[name, str(count)] for name, count in found])


def _row(group: Group) -> list[str]:
    density = "" if group.density is None else "%.3f" % group.density
    return [
        group.name,
        str(group.replies),
        _percent(group.padded.value),
        _percent(group.drifted.value),
        density,
    ]


def _percent(value: float | None) -> str:
    return "" if value is None else "%.0f %%" % (100 * value)


def _plot(days: Sequence[Group], session: Session) -> None:
    """One column a day: how many replies held filler, on a scale from none to all."""
    days = days[-_COLUMNS:]
    bars = "".join(_STEPS[min(len(_STEPS) - 1, int((day.padded.value or 0.0) * len(_STEPS)))] for day in days)
    session.console.line("with filler, by day  %s" % bars)
    session.console.line(
        "                     %s to %s, %s = none, %s = all"
        % (days[0].name, days[-1].name, _STEPS[0], _STEPS[-1])
    )


def _show_effect(effect: Effect, arguments: argparse.Namespace, session: Session) -> int:
    console = session.console
    gap = None if effect.gap is None else dict(zip(("difference", "low", "high"), effect.gap))
    if arguments.json:
        record = {"corrected": effect.corrected._asdict(), "control": effect.control._asdict()}
        console.json({**record, "effect": gap, "enough": effect.enough, "unanswered": effect.unanswered})
        return DONE
    console.line("in line again with the next reply")
    console.line("  corrected:    %s" % (effect.corrected,))
    console.line("  uncorrected:  %s" % (effect.control,))
    if effect.gap is not None:
        console.line(
            "  difference:   %+.0f points (%+.0f to %+.0f)" % tuple(100 * part for part in effect.gap)
        )
    if not effect.enough:
        console.line(
            "Too few drifts to tell: at least 10 of each are needed. A share of them (scoring.holdout) is left uncorrected for this."
        )
    return DONE
