"""`memory replies history`: show the scores of replies over time, and the effect of corrections."""

from __future__ import annotations

import argparse
from typing import Any

from ...kernel.context import days_ago
from ...kernel.text.clean import counted
from ...replies import rows
from ...replies.tune import is_outside
from ..command_context import CommandContext
from ..options import add_days_option, add_flag, require_days

HELP = "show reply scores over time, by model, project and pattern, and the effect of corrections"
EXAMPLES = """\
  memory replies history
  memory replies history --here --days 7
  memory replies history --effect
  memory replies history --json
"""

_DAYS = 30
_MAX_ROWS = 8
_MAX_BARS = 30
_BARS = "\u2581\u2582\u2583\u2584\u2585\u2586\u2587\u2588"
_LEGEND = (
    "With filler: replies with at least one filler phrase. Wordy: replies with so much filler, or such low density, that Claude is"
    " corrected on your next prompt. For a judge: replies that the rules leave to it. Density: the mean share of words that carry"
    " information, from 0 to 1; - if no reply was long enough to measure."
)
_TOO_FEW = (
    "Too few wordy replies for a conclusion: each group needs at least 10."
    " The setting scoring.holdout decides the size of the control group."
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
        _show_effect(since, arguments, context)
        return
    project = context.paths.project_key if arguments.here else ""
    scores, unreadable = rows.read_scores(context.paths, since, project)
    if arguments.json:
        context.console.json(_history_record(scores, unreadable))
    elif scores:
        _show_history(scores, unreadable, context)
    else:
        days = counted(arguments.days, "day")
        text = "No reply was scored in the last %s. Replies are scored as Claude finishes them."
        context.console.line(text % days)


def _grouped(scores: list[rows.Score], name: str) -> list[rows.ScoreGroup]:
    """Group replies by a field of their records."""
    return rows.group_scores(scores, lambda score: str(getattr(score, name)))


def _history_record(scores: list[rows.Score], unreadable: int) -> dict[str, Any]:
    groups = {"days": rows.group_by_day(scores)}
    groups.update((name + "s", _grouped(scores, name)) for name in ("model", "project", "gate"))
    shares = ("padded", "drifted", "escalated")
    return {
        "replies": len(scores),
        "lines_left_out": unreadable,
        **{
            name: [
                {**group._asdict(), **{share: getattr(group, share)._asdict() for share in shares}}
                for group in members
            ]
            for name, members in groups.items()
        },
        "patterns": [{"id": name, "matches": count} for name, count in rows.count_patterns(scores)],
        "audit": rows.missed_by_rules(scores)._asdict(),
    }


def _show_history(scores: list[rows.Score], unreadable: int, context: CommandContext) -> None:
    console = context.console
    (total,) = rows.group_scores(scores, lambda _: "all")
    console.line(console.style("Replies scored: %d" % total.replies, "bold"))
    console.line("with filler:  %s" % (total.padded,))
    console.line("wordy:        %s" % (total.drifted,))
    console.line("for a judge:  %s" % (total.escalated,))
    if is_outside(total.escalated):
        advice = "outside 20 to 30%; to adjust the thresholds: memory replies tune --thresholds"
        console.line(" " * 14 + advice)
    missed = rows.missed_by_rules(scores)
    if missed.n:
        console.line("missed by rules, estimated from the audited replies: %s" % (missed,))
    if unreadable:
        console.line("Unreadable lines in the ledger: %d" % unreadable)
    console.line()
    days = rows.group_by_day(scores)[-_MAX_BARS:]
    bars = "".join(_BARS[min(7, int((day.padded.value or 0.0) * len(_BARS)))] for day in days)
    console.line("with filler, by day  %s" % bars)
    spans = (days[0].name, days[-1].name, _BARS[0], _BARS[-1])
    console.line(" " * 21 + "%s to %s, %s = none, %s = all" % spans)
    for name in ("model", "project"):
        console.line()
        table = [_row(group) for group in _grouped(scores, name)[:_MAX_ROWS]]
        console.table([name, "replies", "with filler", "drifted", "density"], table)
    patterns = [[name, str(count)] for name, count in rows.count_patterns(scores)[:_MAX_ROWS]]
    if patterns:
        console.line()
        console.table(["pattern", "matches"], patterns)
    if console.wraps:  # only for a person at a terminal
        console.line()
        console.paragraph(_LEGEND)


def _row(group: rows.ScoreGroup) -> list[str]:
    density = "-" if group.density is None else "%.3f" % group.density
    shares = ("%.0f%%" % (100 * (part.value or 0.0)) for part in (group.padded, group.drifted))
    return [group.name, str(group.replies), *shares, density]


def _show_effect(since: str, arguments: argparse.Namespace, context: CommandContext) -> None:
    effect = rows.measure_effect(context.paths, since)
    gap = None if effect.gap is None else dict(zip(("difference", "low", "high"), effect.gap))
    record: dict[str, Any] = {"corrected": effect.corrected._asdict(), "control": effect.control._asdict()}
    record.update(effect=gap, enough=effect.is_conclusive)
    lines = [
        "Wordy replies whose next reply was not wordy",
        "  corrected:      %s" % (effect.corrected,),
        "  control group:  %s" % (effect.control,),
    ]
    if effect.gap is not None:
        points = tuple(100 * part for part in effect.gap)
        lines.append("  difference:     %+.0f percentage points (%+.0f to %+.0f)" % points)
    if not effect.is_conclusive:
        lines.append(_TOO_FEW)
    context.console.result(arguments.json, record, *lines)
