"""`memory replies history`: show reply scores over time, by model, project and pattern, and the effect of corrections."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from ...replies.score_history import (
    CorrectionEffect,
    PastScore,
    ScoreGroup,
    count_patterns,
    group_by_day,
    group_scores,
    measure_effect,
    missed_by_rules,
    read_scores,
)
from ...replies.tuning import is_outside
from ..command_context import CommandContext
from ..console import counted
from ..options import add_days_option, add_flag, days_ago, require_days

HELP = "show reply scores over time, by model, project and pattern, and the effect of corrections"
EXAMPLES = """\
  memory replies history
  memory replies history --here --days 7
  memory replies history --effect
  memory replies history --json
"""
_DAYS = 30
_SHOWN = 8
_COLUMNS = 30
_GROUPED = ("model", "project", "gate")
_STEPS = "\u2581\u2582\u2583\u2584\u2585\u2586\u2587\u2588"

_LEGEND = (
    "With filler: replies with at least one filler phrase. Drifted: replies with so much filler, or such low density, that Claude is"
    " corrected on your next prompt. Escalated: replies that the rules leave to a judge. Density: the mean share of words that carry"
    " information, from 0 to 1; - if no reply was long enough to measure."
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_days_option(parser, _DAYS)
    add_flag(parser, "--here", "this project only")
    add_flag(parser, "--effect", "show the effect of corrections, compared with a control group")


def run(arguments: argparse.Namespace, context: CommandContext) -> None:
    """Print the scores, or the effect of corrections."""
    require_days(arguments.days)
    since = days_ago(arguments.days)
    if arguments.effect:
        _show_effect(measure_effect(context.paths, since), arguments, context)
        return
    scores, unreadable = read_scores(
        context.paths, since, context.paths.project_key if arguments.here else ""
    )
    if arguments.json:
        context.console.json(_record(scores, unreadable))
    elif not scores:
        context.console.line(
            "No reply was scored in the last %s. Replies are scored as Claude finishes them."
            % counted(arguments.days, "day")
        )
    else:
        _show(scores, unreadable, context)


def _record(scores: list[PastScore], unreadable: int) -> dict[str, Any]:
    groups = {"days": group_by_day(scores), **{name + "s": _grouped(scores, name) for name in _GROUPED}}
    return {
        "replies": len(scores),
        "lines_left_out": unreadable,
        **{name: [_as_json(group) for group in members] for name, members in groups.items()},
        "patterns": [{"id": name, "matches": count} for name, count in count_patterns(scores)],
        "audit": missed_by_rules(scores)._asdict(),
    }


def _grouped(scores: list[PastScore], name: str) -> list[ScoreGroup]:
    """Group replies by a field of their records."""
    return group_scores(scores, lambda score: score.row.get(name, ""))


def _as_json(group: ScoreGroup) -> dict[str, Any]:
    shares = {name: getattr(group, name)._asdict() for name in ("padded", "drifted", "escalated")}
    return {**group._asdict(), **shares}


def _show(scores: list[PastScore], unreadable: int, context: CommandContext) -> None:
    console = context.console
    (total,) = group_scores(scores, lambda _: "all")
    console.line(console.style("Replies scored: %d" % total.replies, "bold"))
    console.line("with filler:  %s" % (total.padded,))
    console.line("drifted:      %s" % (total.drifted,))
    console.line("escalated:    %s" % (total.escalated,))
    if is_outside(total.escalated):
        console.line(
            "              outside 20 to 30%; to adjust the thresholds: memory replies tune --thresholds"
        )
    missed = missed_by_rules(scores)
    if missed.n:
        console.line("missed by rules, estimated from the audited replies: %s" % (missed,))
    if unreadable:
        console.line("Unreadable lines in the ledger: %d" % unreadable)
    console.line()
    _plot(group_by_day(scores), context)
    for name in ("model", "project"):
        console.line()
        rows = [_row(group) for group in _grouped(scores, name)[:_SHOWN]]
        console.table([name, "replies", "with filler", "drifted", "density"], rows)
    patterns = count_patterns(scores)[:_SHOWN]
    if patterns:
        console.line()
        console.table(["pattern", "matches"], [[name, str(count)] for name, count in patterns])
    if console.wraps:  # only for a person at a terminal
        console.line()
        console.paragraph(_LEGEND)


def _row(group: ScoreGroup) -> list[str]:
    density = "-" if group.density is None else "%.3f" % group.density
    shares = ("%.0f%%" % (100 * (part.value or 0.0)) for part in (group.padded, group.drifted))
    return [group.name, str(group.replies), *shares, density]


def _plot(days: Sequence[ScoreGroup], context: CommandContext) -> None:
    """Print one column per day: the share of replies with filler, from none to all."""
    days = days[-_COLUMNS:]
    bars = "".join(_STEPS[min(len(_STEPS) - 1, int((day.padded.value or 0.0) * len(_STEPS)))] for day in days)
    context.console.line("with filler, by day  %s" % bars)
    context.console.line(
        "                     %s to %s, %s = none, %s = all"
        % (days[0].name, days[-1].name, _STEPS[0], _STEPS[-1])
    )


def _show_effect(effect: CorrectionEffect, arguments: argparse.Namespace, context: CommandContext) -> None:
    gap = None if effect.gap is None else dict(zip(("difference", "low", "high"), effect.gap))
    record: dict[str, Any] = {"corrected": effect.corrected._asdict(), "control": effect.control._asdict()}
    record.update(effect=gap, enough=effect.is_conclusive, unanswered=effect.unanswered)
    lines = [
        "Drifting replies whose next reply had no drift",
        "  corrected:      %s" % (effect.corrected,),
        "  control group:  %s" % (effect.control,),
    ]
    if effect.gap is not None:
        points = tuple(100 * part for part in effect.gap)
        lines.append("  difference:     %+.0f percentage points (%+.0f to %+.0f)" % points)
    if not effect.is_conclusive:
        lines.append(
            "Too few drifting replies for a conclusion: each group needs at least 10."
            " The setting scoring.holdout decides the size of the control group."
        )
    context.console.result(arguments.json, record, *lines)
