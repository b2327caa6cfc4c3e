"""`memory replies tune`: propose changes to the user's rule pack from judged replies, and apply them."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from ...kernel.context import days_ago
from ...replies import reset_tuning_reminder, tune
from ...replies.gate import GateBounds
from ...replies.rows import read_scores
from ...replies.signals import load_filler_rules
from ..command_context import Approval, CommandContext, Handler
from ..options import add_days_option, add_flag

_TEXT = """\
adjust the filler rules by a judge's verdicts
  memory replies tune                shows agreement, cleared patterns, new phrases and proposals
  memory replies tune --apply        writes the proposals into your own rule pack, with a backup
  memory replies tune --days 90 --json
"""
_DAYS = 60
_SHOWN = 12
_RESCORED = (
    "Replies scored again: %(replies)d. With filler before: %(padded_before)d (phrases: %(phrases_before)d);"
    " after: %(padded_after)d (phrases: %(phrases_after)d)."
)


def _configure(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    add_days_option(parser, _DAYS)
    add_flag(parser, "--apply", "write the proposals into your own rule pack")


def _approval(arguments: Namespace, context: CommandContext) -> Approval | None:  # noqa: ARG001  (every command gets the same arguments)
    """Return what to change; None for an analysis."""
    return Approval("change the filler rules?") if arguments.apply else None


def _run(arguments: Namespace, context: CommandContext) -> None:
    """Show what judged replies say about the rules, and the proposed rule pack; write it with --apply.

    Raises RulePackError if the pack cannot be read.
    """
    scores, _ = read_scores(context.paths, days_ago(arguments.days))
    console, state = context.console, context.paths.state()
    study = tune.study_scores(scores, load_filler_rules(state))
    advice = tune.gate_advice(study, scores, GateBounds.of(context.settings))
    change = tune.propose_pack(study, state)
    diff = change.diff
    effect = change.rescored(scores) if diff else {}
    applies = arguments.apply and bool(diff)
    record = {**study._asdict(), "advice": advice, "diff": diff, "rescored": effect}
    console.result({**record, "applied": applies})
    _show_study(study, advice, context)
    _show_change(diff, effect, context)
    reset_tuning_reminder(context.paths)
    if applies:
        path, backup = change.write(context.paths)
        kept = " The previous version: %s." % backup if backup else ""
        console.line("Written: %s.%s" % (path, kept))


def _show_study(study: tune.TuningStudy, advice: str, context: CommandContext) -> None:
    console = context.console
    console.line("Judged replies: %d; still in their transcripts: %d" % (study.judged, study.reread))
    console.line(advice)
    if study.missed.n:
        console.line("missed by rules, estimated from the audited replies: %s" % (study.missed,))
    cleared = [[row.rule, str(row.cleared), "exempt" if row.exempt else ""] for row in study.cleared]
    phrases = [[row.phrase, str(row.replies), "promote" if row.promote else ""] for row in study.candidates]
    for head, rows in (
        (["pattern", "cleared by the judge", "proposal"], cleared),
        (["new phrase", "replies", "proposal"], phrases),
    ):
        if rows:
            console.line()
            console.table(head, rows[:_SHOWN])


def _show_change(diff: str, effect: dict[str, int], context: CommandContext) -> None:
    console = context.console
    console.line()
    if not diff:
        console.line("No change to the filler rules is proposed.")
        return
    console.lines(*diff.splitlines(), "", _RESCORED % effect)


HANDLERS = {"replies tune": Handler(_TEXT, _run, _configure, _approval)}
