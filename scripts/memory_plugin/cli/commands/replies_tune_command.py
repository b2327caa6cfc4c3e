"""`memory replies tune`: propose changes to the user's rule pack from judged replies, or thresholds from all replies; apply them."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from ...kernel.context import days_ago
from ...kernel.settings.user_file import change_values
from ...replies import reset_tuning_reminder, tune
from ...replies.gate import GateBounds
from ...replies.rows import Score, read_scores
from ...replies.signals import load_filler_rules
from ..command_context import Approval, CommandContext, CommandError
from ..options import add_days_option, add_flag

HELP = "adjust the filler rules by a judge's verdicts"
EXAMPLES = """\
  memory replies tune                shows agreement, cleared patterns, new phrases and proposals
  memory replies tune --apply        writes the proposals into your own rule pack, with a backup
  memory replies tune --days 90 --json
  memory replies tune --thresholds              shows how many replies escalate, and thresholds that fit your replies
  memory replies tune --thresholds --apply      writes them into your settings, with a backup
"""
_DAYS = 60
_SHOWN = 12
_RESCORED = (
    "Replies scored again: %(replies)d. With filler before: %(padded_before)d (phrases: %(phrases_before)d);"
    " after: %(padded_after)d (phrases: %(phrases_after)d)."
)


def configure(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    add_days_option(parser, _DAYS)
    add_flag(parser, "--apply", "write the proposals: rules into your pack, thresholds into your settings")
    add_flag(
        parser,
        "--thresholds",
        "fit the density thresholds and `preamble` to your replies, so that a judge sees 20 to 30%%",
    )


def approval(arguments: Namespace, context: CommandContext) -> Approval | None:  # noqa: ARG001  (every command gets the same arguments)
    """Return what to change; None for an analysis."""
    what = "change the thresholds?" if arguments.thresholds else "change the filler rules?"
    return Approval(what) if arguments.apply else None


def run(arguments: Namespace, context: CommandContext) -> None:
    """Analyze the replies; with --apply, write the proposals. Raises CommandError if a file cannot be read or changed."""
    scores, _ = read_scores(context.paths, days_ago(arguments.days))
    if arguments.thresholds:
        _tune_thresholds(scores, arguments, context)
    else:
        _tune_rules(scores, arguments, context)


def _tune_rules(scores: list[Score], arguments: Namespace, context: CommandContext) -> None:
    """Show what judged replies say about the rules, and the proposed rule pack; write it with --apply."""
    console, state = context.console, context.paths.state()
    study = tune.study_scores(scores, load_filler_rules(state))
    advice = tune.gate_advice(study, tune.measured_replies(scores), GateBounds.of(context.settings))
    change = tune.propose_pack(study, state)
    diff = change.diff
    effect = change.rescored(scores) if diff else {}
    applies = arguments.apply and bool(diff)
    if arguments.json:
        record = {**study._asdict(), "advice": advice, "diff": diff, "rescored": effect}
        console.json({**record, "applied": applies})
    else:
        _show_study(study, advice, context)
        _show_change(diff, effect, context)
    reset_tuning_reminder(context.paths)
    if applies:
        path, backup = change.write(context.paths)
        if not arguments.json:
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


def _tune_thresholds(scores: list[Score], arguments: Namespace, context: CommandContext) -> None:
    """Show how many replies escalate, and thresholds that fit; write them with --apply. Raises CommandError and EditError."""
    replies = tune.measured_replies(scores)
    if len(replies) < tune.MIN_REPLIES:
        text = "fitting the thresholds takes %d replies of at least 20 words; the ledger has %d from the last %d days"
        raise CommandError(text % (tune.MIN_REPLIES, len(replies), arguments.days))
    console, settings = context.console, context.settings
    fit = tune.fit_thresholds(replies, GateBounds.of(settings))
    changes = fit.changes(settings)
    applies = arguments.apply and bool(changes)
    backup = change_values(context.paths.config_dir, changes).backup if applies else None
    if arguments.json:
        record = {"replies": len(replies), "before": fit.before, "after": fit.after, "changes": changes}
        console.json({**record, "settings": fit.settings(), "applied": applies})
        return
    console.line("now:      %s to a judge" % (fit.before,))
    if not changes:
        console.line("No change is proposed.")
        return
    console.lines("proposed: %s to a judge" % (fit.after,), "")
    rows = [[name, "%g" % settings.number(name), "%g" % value] for name, value in changes.items()]
    console.table(["setting", "now", "proposed"], rows)
    if applies:
        kept = " The previous version: %s." % backup if backup else ""
        console.line("Written to your settings.%s" % kept)
