"""`memory replies tune --thresholds`: fit the escalation gate to the user's own replies, write it to their settings, or undo that."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ..kernel.clock import now_iso
from ..kernel.overrides import load_or_shipped
from ..kernel.settings.load import USER, load
from ..kernel.settings.user_file import EditError, change_values
from ..kernel.state_file import read_state, write_state
from ..replies.escalation import THRESHOLD, EscalationThresholds
from ..replies.threshold_fit import MIN_REPLIES, escalated_share, fit_thresholds, measured_replies
from .command_context import CommandError
from .console import counted

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from ..kernel.stats import Proportion
    from ..replies.score_history import PastScore
    from ..replies.threshold_fit import MeasuredReply, ThresholdFit
    from .command_context import CommandContext

_PREAMBLE = "scoring.escalation.preamble_min"
_UNDO_FILE = "thresholds-before.json"
_SHOWN = 12
_ROW_WORDS = {
    "padding_range": "one or two phrases of filler (`memory replies tune` shows which rules to exempt)",
    "borderline_density": "a density near the threshold (a smaller scoring.escalation.density_margin helps)",
    "mixed_signal": "a long preamble without filler (scoring.escalation.mixed_signal switches it off)",
    "clean": "no filler, a short preamble and a high density",
    "clear_drift": "more filler than scoring.escalation.padding_range, which needs no judge",
    "low_density": "a density far below the threshold, which needs no judge",
    "clean_enough": "none of the conditions of the gate",
}


def tune_thresholds(scores: list[PastScore], arguments: argparse.Namespace, context: CommandContext) -> None:
    """Show how many replies escalate by model and kind of message, propose values, and write them with --apply.

    Raises CommandError for fewer than 200 replies, and if the file cannot be changed.
    """
    replies = measured_replies(scores)
    if len(replies) < MIN_REPLIES:
        raise CommandError(
            "fitting the thresholds takes %d replies of at least 20 words; the ledger has %d from the last %d days"
            % (MIN_REPLIES, len(replies), arguments.days)
        )
    fit = fit_thresholds(replies, EscalationThresholds(context.settings, load_or_shipped("replies", "gate")))
    changes = _changes(fit, context)
    if arguments.apply and changes:
        _write(changes, context)
    if arguments.json:
        context.console.json(_record(fit, replies, changes, applied=arguments.apply and bool(changes)))
    else:
        _show(fit, replies, changes, context)
        if arguments.apply and changes:
            context.console.line(
                "Written to your settings. To undo this: memory replies tune --thresholds --undo"
            )


def _changes(fit: ThresholdFit, context: CommandContext) -> dict[str, object]:
    """Return the settings that the proposal changes, with their new values."""
    values: dict[str, object] = {_PREAMBLE: fit.preamble_min}
    values.update((THRESHOLD % kind, value / 1000) for kind, value in fit.thresholds.items())
    return {name: value for name, value in values.items() if value != context.settings.get(name)}


def _write(changes: dict[str, object], context: CommandContext) -> None:
    """Write the values into the user's settings, after saving the previous ones."""
    own = load(context.paths.config_dir, None)
    before = {name: own.get(name) if own.origin(name) == USER else None for name in changes}
    path = context.paths.state(_UNDO_FILE)
    earlier = read_state(path)
    write_state(path, {"schema": 1, "time": now_iso(), "before": before, "after": changes}, durable=True)
    try:
        change_values(context.paths.config_dir, changes)
    except EditError as error:
        write_state(path, earlier, durable=True)
        raise CommandError(str(error)) from None


def undo_thresholds(arguments: argparse.Namespace, context: CommandContext) -> None:
    """Restore the settings from before the last --apply, except values that were changed since."""
    path = context.paths.state(_UNDO_FILE)
    backup = read_state(path)
    before, after = backup.get("before"), backup.get("after")
    if not isinstance(before, dict) or not isinstance(after, dict):
        raise CommandError("there is nothing to undo: no thresholds were written")
    present = load(context.paths.config_dir, None)
    names = [name for name in before if name in present.all_keys() and present.get(name) == after.get(name)]
    try:
        change_values(context.paths.config_dir, {name: before[name] for name in names})
    except EditError as error:
        raise CommandError(str(error)) from None
    os.unlink(path)
    kept = sorted(set(before) - set(names))
    context.console.result(
        arguments.json,
        {"restored": sorted(names), "kept": kept},
        "Restored: %s." % counted(len(names), "value"),
        *("  not restored, because it was changed since: %s" % name for name in kept),
    )


def _record(
    fit: ThresholdFit, replies: Sequence[MeasuredReply], changes: dict[str, object], *, applied: bool
) -> dict[str, object]:
    return {
        "replies": len(replies),
        "before": fit.before._asdict(),
        "after": fit.after._asdict(),
        "thresholds": {kind: value / 1000 for kind, value in fit.thresholds.items()},
        "preamble_min": fit.preamble_min,
        "changes": changes,
        "rows": fit.rows,
        "hindrance": fit.blocking_row or None,
        "applied": applied,
    }


def _show(
    fit: ThresholdFit, replies: Sequence[MeasuredReply], changes: dict[str, object], context: CommandContext
) -> None:
    console = context.console
    bounds = EscalationThresholds(context.settings, load_or_shipped("replies", "gate"))
    for title, name in (("model", "model"), ("message", "kind")):
        groups: dict[str, list[MeasuredReply]] = {}
        for reply in replies:
            groups.setdefault(getattr(reply, name) or "unknown", []).append(reply)
        rows = [
            [group, str(len(members)), _interval(escalated_share(members, bounds))]
            for group, members in sorted(groups.items(), key=lambda pair: -len(pair[1]))[:_SHOWN]
        ]
        console.table([title, "replies", "escalated now"], rows)
        console.line()
    console.line("now:      %s escalate" % (fit.before,))
    if changes:
        console.line("proposed: %s escalate" % (fit.after,))
        console.line()
        rows = [
            [name, "%g" % context.settings.number(name), "%g" % value]
            for name, value in changes.items()
            if isinstance(value, (int, float))
        ]
        console.table(["setting", "now", "proposed"], rows)
    else:
        console.line("No change is proposed.")
    if fit.blocking_row:
        text = "20 to 30%% is out of reach: most replies escalate by the row %s, %s."
        console.paragraph(text % (fit.blocking_row, _ROW_WORDS.get(fit.blocking_row, "a row of the gate")))


def _interval(share: Proportion) -> str:
    if share.value is None or share.low is None or share.high is None:
        return ""
    return "%.0f%% (%.0f-%.0f)" % (100 * share.value, 100 * share.low, 100 * share.high)
