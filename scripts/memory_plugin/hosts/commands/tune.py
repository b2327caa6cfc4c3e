"""`memory tune`: what the judge's opinions say about the rules, and the user's own rule pack changed accordingly when asked for."""

from __future__ import annotations

import difflib
import json
from typing import TYPE_CHECKING, Any

from ...kernel.clock import iso, now
from ...kernel.files import Unreadable, read_regular, replace_file
from ...replies.data import load_lexicon
from ...replies.history import read_scores
from ...replies.reread import reread
from ...replies.rules import PACK, Rules, RulesError, load_rule_table, load_rules
from ...replies.signals import measure
from ...replies.tuning import advice, proposed_pack, study
from ...replies.tuning_notice import tuning_done

if TYPE_CHECKING:
    import argparse

    from ...replies.history import Scored
    from ...replies.tuning import Tuning
    from ..session_context import Session

__all__ = ["EXAMPLES", "HELP", "configure", "run"]

DONE, FAILED, USAGE = 0, 1, 2

HELP = "what the judge's opinions say about the rules for replies; change your own rules accordingly"
EXAMPLES = """\
  memory tune                clear rates, agreement, candidates, proposals
  memory tune --apply        write the proposals into your own rule pack, with a backup
  memory tune --days 90 --json
"""
_DAYS = 60
_SHOWN = 12
_RESCORED = 500
_MAX_BYTES = 1 << 20


def configure(parser: argparse.ArgumentParser) -> None:
    """How far back, and whether to change anything."""
    parser.add_argument(
        "--days",
        type=int,
        default=_DAYS,
        metavar="N",
        help="the last N days, 1 to 3650 (default: %d)" % _DAYS,
    )
    parser.add_argument("--apply", action="store_true", help="write the proposals into your own rule pack")


def run(arguments: argparse.Namespace, session: Session) -> int:
    """Study the judged replies; with --apply change the pack."""
    if not 1 <= arguments.days <= 3650:
        session.console.error("--days: expected 1 to 3650, got %d" % arguments.days)
        return USAGE
    state = session.places.state()
    scores, _ = read_scores(session.places, iso(now() - arguments.days * 86400))
    tuning = study(scores, load_rules(state))
    try:
        before, after = proposed_pack(tuning, state)
    except RulesError as error:
        session.console.error(str(error))
        return FAILED
    diff = _diff(before, after)
    if arguments.apply and diff and not session.require_word("change your rule pack"):
        return FAILED
    effect = _rescored(scores, before, after) if diff else {}
    if arguments.json:
        session.console.json(_record(tuning, diff, effect, applied=arguments.apply and bool(diff)))
    else:
        _show(tuning, session)
        _show_change(diff, effect, session)
    tuning_done(session.places)
    return _apply(after, diff, arguments, session) if arguments.apply else DONE


def _record(tuning: Tuning, diff: str, effect: dict[str, int], *, applied: bool) -> dict[str, Any]:
    return {
        "judged": tuning.judged,
        "reread": tuning.reread,
        "agreement": tuning.agreement._asdict(),
        "missed": tuning.missed._asdict(),
        "advice": advice(tuning),
        "cleared": [{**one._asdict(), "cleared": one.cleared._asdict()} for one in tuning.cleared],
        "candidates": [one._asdict() for one in tuning.candidates],
        "diff": diff,
        "rescored": effect,
        "applied": applied,
    }


def _show(tuning: Tuning, session: Session) -> None:
    console = session.console
    console.line("%d judged replies, %d of them can be read again" % (tuning.judged, tuning.reread))
    console.line(advice(tuning))
    if tuning.missed.n:
        console.line("missed by rules, in the judged share of what the gate let pass: %s" % (tuning.missed,))
    if tuning.cleared:
        rows = [
            [one.rule, str(one.cleared), "exempt" if one.exempt else ""] for one in tuning.cleared[:_SHOWN]
        ]
        console.line()
        console.table(["pattern", "cleared as contextual", "proposal"], rows)
    if tuning.candidates:
        rows = [
            [one.phrase, str(one.replies), one.source, "promote" if one.promote else ""]
            for one in tuning.candidates[:_SHOWN]
        ]
        console.line()
        console.table(["new phrase", "replies", "from", "proposal"], rows)


def _show_change(diff: str, effect: dict[str, int], session: Session) -> None:
    console = session.console
    console.line()
    if not diff:
        console.line("No change to the rules is proposed.")
        return
    for line in diff.splitlines():
        console.line(line)
    console.line()
    console.line(
        "over the last %(replies)d replies that can be read again: %(padded_before)d with filler (%(phrases_before)d phrases) before,"
        " %(padded_after)d (%(phrases_after)d) after" % effect
    )


def _diff(before: dict[str, Any], after: dict[str, Any]) -> str:
    """The change to the pack as a unified diff; empty when there is none."""
    if {"exempt": {}, "rules": [], **before} == after:
        return ""
    old, new = (_text(pack).splitlines() for pack in (before, after))
    return "\n".join(difflib.unified_diff(old, new, "your rule pack", "proposed", lineterm=""))


def _text(pack: dict[str, Any]) -> str:
    return json.dumps(pack, indent=2) + "\n" if pack else ""


def _rescored(scores: list[Scored], before: dict[str, Any], after: dict[str, Any]) -> dict[str, int]:
    """How many replies and phrases the rules find in the ledger's texts, with either pack."""
    table, lexicon = load_rule_table(), load_lexicon()
    texts = [again.text for again in reread(one.row for one in scores[-_RESCORED:])]
    found = {"replies": len(texts)}
    for name, pack in (("before", before), ("after", after)):
        rules = Rules(table, pack)
        counts = [measure(text, rules, lexicon).padding for text in texts]
        found["padded_" + name], found["phrases_" + name] = sum(map(bool, counts)), sum(counts)
    return found


def _apply(after: dict[str, Any], diff: str, arguments: argparse.Namespace, session: Session) -> int:
    if not diff:
        return DONE
    path = session.places.state(PACK)
    try:
        replace_file(path + ".backup", read_regular(path, _MAX_BYTES)[0])
    except FileNotFoundError:
        pass  # the first pack has nothing before it
    except Unreadable as error:
        session.console.error("your rule pack was not changed: %s" % error)
        return FAILED
    replace_file(path, _text(after).encode("ascii"))
    if not arguments.json:
        session.console.line("written: %s; the one before: %s.backup" % (path, path))
    return DONE
