"""`memory replies tune`: use judged replies to propose changes to the user's own rule pack, and apply them on request."""

from __future__ import annotations

import difflib
import json
from typing import TYPE_CHECKING, Any

from ...kernel.files import Unreadable, read_regular, replace_file
from ...replies.filler import USER_PACK, FillerRules, RulePackError, load_filler_rules, load_rule_table
from ...replies.reply_signals import load_word_lists, measure_reply
from ...replies.reply_state import reset_tuning_reminder
from ...replies.score_history import read_scores
from ...replies.transcript_replies import reread_replies
from ...replies.tuning import gate_advice, propose_pack, study_scores
from ..approval import Approval
from ..command_context import CommandError, UsageError
from ..options import add_days_option, add_flag, days_ago, require_days
from ..threshold_tuning import tune_thresholds, undo_thresholds

if TYPE_CHECKING:
    import argparse

    from ...replies.score_history import PastScore
    from ...replies.tuning import TuningStudy
    from ..command_context import CommandContext

HELP = "improve the reply rules, based on a judge's verdicts"
EXAMPLES = """\
  memory replies tune                shows agreement, cleared patterns, new phrases and proposals
  memory replies tune --apply        writes the proposals into your own rule pack, with a backup
  memory replies tune --days 90 --json
  memory replies tune --thresholds              shows how many replies escalate, and thresholds that fit your replies
  memory replies tune --thresholds --apply      writes them into your settings; --undo restores the old ones
"""
_DAYS = 60
_SHOWN = 12
_MAX_RESCORED = 500
_MAX_BYTES = 1 << 20


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_days_option(parser, _DAYS)
    add_flag(
        parser, "--apply", "write the proposals: rules into your own pack, thresholds into your settings"
    )
    add_flag(
        parser,
        "--thresholds",
        "fit the density thresholds and preamble_min to your replies, so that 20 to 30%% escalate",
    )
    add_flag(parser, "--undo", "with --thresholds: undo the last --apply")


def approval(arguments: argparse.Namespace, context: CommandContext) -> Approval | None:  # noqa: ARG001  (every command gets the same arguments)
    """Return what to change; None for an analysis."""
    if not (arguments.apply or arguments.undo):
        return None
    return Approval("change the thresholds" if arguments.thresholds else "change the filler rules")


def run(arguments: argparse.Namespace, context: CommandContext) -> None:
    """Analyze the judged replies; with --apply, change the pack. Raises CommandError if the pack cannot be read or changed."""
    require_days(arguments.days)
    if arguments.undo and (arguments.apply or not arguments.thresholds):
        raise UsageError("--undo requires --thresholds and excludes --apply")
    if arguments.undo:
        undo_thresholds(arguments, context)
        return
    scores, _ = read_scores(context.paths, days_ago(arguments.days))
    if arguments.thresholds:
        tune_thresholds(scores, arguments, context)
        return
    state = context.paths.state()
    study = study_scores(scores, load_filler_rules(state))
    try:
        before, after = propose_pack(study, state)
    except RulePackError as error:
        raise CommandError(str(error)) from None
    diff = _diff(before, after)
    effect = _rescored(scores, before, after) if diff else {}
    if arguments.json:
        context.console.json(_record(study, diff, effect, applied=arguments.apply and bool(diff)))
    else:
        _show(study, context)
        _show_change(diff, effect, context)
    reset_tuning_reminder(context.paths)
    if arguments.apply and diff:
        _apply(after, arguments, context)


def _record(study: TuningStudy, diff: str, effect: dict[str, int], *, applied: bool) -> dict[str, Any]:
    return {
        "judged": study.judged,
        "reread": study.reread,
        "agreement": study.agreement._asdict(),
        "missed": study.missed._asdict(),
        "advice": gate_advice(study),
        "cleared": [{**row._asdict(), "cleared": row.cleared._asdict()} for row in study.cleared],
        "candidates": [candidate._asdict() for candidate in study.candidates],
        "diff": diff,
        "rescored": effect,
        "applied": applied,
    }


def _show(study: TuningStudy, context: CommandContext) -> None:
    console = context.console
    console.line("Judged replies: %d; still in their transcripts: %d" % (study.judged, study.reread))
    console.line(gate_advice(study))
    if study.missed.n:
        console.line("missed by rules, estimated from the audited replies: %s" % (study.missed,))
    if study.cleared:
        rows = [
            [row.rule, str(row.cleared), "exempt" if row.exempt else ""] for row in study.cleared[:_SHOWN]
        ]
        console.line()
        console.table(["pattern", "cleared by the judge", "proposal"], rows)
    if study.candidates:
        rows = [
            [row.phrase, str(row.replies), row.source, "promote" if row.promote else ""]
            for row in study.candidates[:_SHOWN]
        ]
        console.line()
        console.table(["new phrase", "replies", "from", "proposal"], rows)


def _show_change(diff: str, effect: dict[str, int], context: CommandContext) -> None:
    console = context.console
    console.line()
    if not diff:
        console.line("No change to the rules is proposed.")
        return
    for line in diff.splitlines():
        console.line(line)
    console.line()
    console.line(
        "Replies scored again: %(replies)d. With filler before: %(padded_before)d (phrases: %(phrases_before)d);"
        " after: %(padded_after)d (phrases: %(phrases_after)d)." % effect
    )


def _diff(before: dict[str, Any], after: dict[str, Any]) -> str:
    """Return the change to the pack as a unified diff; empty when there is none."""
    if {"exempt": {}, "rules": [], **before} == after:
        return ""
    old, new = (_text(pack).splitlines() for pack in (before, after))
    return "\n".join(difflib.unified_diff(old, new, "your rule pack", "proposed", lineterm=""))


def _text(pack: dict[str, Any]) -> str:
    return json.dumps(pack, indent=2) + "\n" if pack else ""


def _rescored(scores: list[PastScore], before: dict[str, Any], after: dict[str, Any]) -> dict[str, int]:
    """Return the number of replies with filler, and of filler phrases, under both packs."""
    table, lists = load_rule_table(), load_word_lists()
    texts = [reply.text for reply in reread_replies(score.row for score in scores[-_MAX_RESCORED:])]
    totals = {"replies": len(texts)}
    for name, pack in (("before", before), ("after", after)):
        rules = FillerRules(table, pack)
        counts = [measure_reply(text, rules, lists).padding for text in texts]
        totals["padded_" + name], totals["phrases_" + name] = sum(map(bool, counts)), sum(counts)
    return totals


def _apply(after: dict[str, Any], arguments: argparse.Namespace, context: CommandContext) -> None:
    """Write the pack, after a backup of the present one."""
    path = context.paths.state(USER_PACK)
    try:
        replace_file(path + ".backup", read_regular(path, _MAX_BYTES)[0])
    except FileNotFoundError:
        pass  # there was no pack before
    except Unreadable as error:
        raise CommandError("your rule pack was not changed: %s" % error) from None
    replace_file(path, _text(after).encode("ascii"))
    if not arguments.json:
        context.console.line("Written: %s. The previous version: %s.backup." % (path, path))
