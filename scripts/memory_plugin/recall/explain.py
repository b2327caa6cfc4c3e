"""Explain recall's decisions for people, from the records in its ledger and the prompts in their own transcripts."""

from __future__ import annotations

import glob
import os
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from typing import Any, NamedTuple

from ..kernel.fastjson import load_object
from ..kernel.paths import Paths, load_data
from ..kernel.records import Records
from ..kernel.text import without_private
from ..kernel.text.clean import counted
from ..kernel.transcript import COMMAND, kind_and_text, plain_text, user_input_of
from ..kernel.transcript.reader import MAX_LINE, open_transcript
from ..memories.hygiene import CUT_MARGIN, shown_line
from .decision import shifted_threshold
from .recall_rows import RECALLS

# Reasons that the percentages or the judges' verdict already state.
_BY_CONFIDENCE = ("below_threshold", "declined")
_HAD_BEFORE = ("already_injected", "already_pointed")  # Claude already has it, whatever the match
_PROMPT, _GUARD, _PAST = "prompt", "guard", "past"
_STYLE = "; showed a note on style about the last reply"
LAST = "last"
_ALL = 100_000  # decisions
STARTS = ("catalog", "subagent")  # where Claude gets rules and titles, whatever the prompt
PLACES = (_PROMPT, *STARTS, "tool", "failure", _GUARD, _PAST)
_INJECTED, _POINTED = "injected", "pointed"
_TOLD, _POINTED_TO, NOT_TOLD = RESULTS = ("shown", "title shown", "not shown")
_MAX_SESSIONS = 60
_RELATED = 0.2  # the pointer confidence from which a memory has to do with a prompt
_MAX_PROMPT = 300
_LISTED = "listed"  # the outcome of a session catalog with titles but no rules

Row = dict[str, Any]  # a row of the ledger, checked by RECALLS


@cache
def texts(name: str) -> dict[str, str]:
    """Return a group of `config/recall/reasons.json`: what the codes in the ledger mean, for people."""
    return dict(load_data("recall", "reasons")[name])


class Outcome(NamedTuple):
    """The result for one candidate: one of RESULTS, and the reason as text."""

    key: str
    result: str
    reason: str


def decisions(paths: Paths, session: str = "", last: int = 20) -> list[Row]:
    """Return the last decisions for this project, newest first; with `session` only those of that session."""
    records = Records(paths.state(), RECALLS, project=paths.project_key)
    return [row for row in records if session in ("", row.get("session"))][-last:][::-1]


def find_decision(paths: Paths, which: str, place: str = "") -> Row | None:
    """Return the decision about one prompt, `last` or the start of its id; None if there is none.

    If a turn has several decisions, return that of the prompt itself, or of `place` if it is not empty.
    """
    rows = decisions(paths, last=_ALL)
    if which != LAST:
        rows = [row for row in rows if row.get("prompt_id", "").startswith(which)]
    rows = [row for row in rows if place in ("", _place(row))]
    return next((row for row in rows if _place(row) == _PROMPT), rows[0] if rows else None)


def same_turn(paths: Paths, row: Row) -> list[Row]:
    """Return the decisions at other places in the same turn, the oldest first."""
    prompt_id, session = row.get("prompt_id"), row.get("session", "")
    if not prompt_id:
        return []
    rows = decisions(paths, session, last=_ALL)[::-1]
    return [other for other in rows if other.get("prompt_id") == prompt_id and other != row]


def _place(row: Row) -> str:
    return str(row.get("place", _PROMPT))


def sentence(row: Row, *also: Row) -> str:
    """Return one decision as a sentence, with the place if it was not a prompt; `also` are others in its turn."""
    place = _place(row)
    if place == _GUARD:
        outcome = texts("guarded").get(row.get("outcome", ""), "a guarded call went through")
        reason = reason_text(row.get("reason", ""))
        guards = ", ".join(key.rpartition("/")[2] for key in row.get("guards", ()))
        return "%s (%s)%s" % (outcome, guards, ": " + reason if reason else "")
    if place == _PAST:
        verb = texts("past").get(row.get("outcome", ""), "Claude was shown nothing of")
        sessions = ", ".join(row.get("sessions", ())) or "nothing"
        return "%s what was done in earlier sessions, because the prompt asked: %s" % (verb, sessions)
    start = texts("places").get(place)
    text = start + ": " + _action(row) if start else _action(row)
    if row.get("style") or any(_place(other) == _PAST for other in also):
        text = text.replace("showed nothing", "showed no memory")
    return text + (_STYLE if row.get("style") else "")


def _action(row: Row) -> str:
    injected, pointed = row.get(_INJECTED, ()), row.get(_POINTED, ())
    outcome, listed = row.get("outcome"), row.get("listed", 0)
    if outcome == _INJECTED:
        text = "showed Claude " + counted(len(injected), "memory")
        if listed:
            text += " in full and the titles of %d" % listed
        return text + (", and %d by title" % len(pointed) if pointed else "")
    if outcome == _POINTED:
        return "showed Claude %s by title" % counted(len(pointed), "memory")
    if outcome == _LISTED:
        return "showed Claude the titles of " + counted(listed, "memory")
    if row.get("tried") and row["reason"] in _HAD_BEFORE:
        return "Claude has it from the session's start"
    return "showed nothing: " + (reason_text(row.get("reason", "")) or "no reason noted")


def reason_text(reason: str) -> str:
    """Return a ledger's reason as a sentence, with the detail after its code if there is one; an unknown reason is returned unchanged."""
    code, separator, detail = reason.partition(": ")
    sentence = texts("reasons").get(code)
    return reason if sentence is None else sentence + separator + detail


def remedy(row: Row) -> str:
    """Return a command that helps with the reason for silence; usually empty."""
    return texts("remedies").get(row.get("reason", ""), "")


def would_phrases_help(row: Row) -> bool:
    """Return whether nothing was shown because a memory that has to do with the prompt did not match well enough."""
    if row.get(_INJECTED) or row.get(_POINTED) or row.get("reason") != "below_threshold":
        return False
    return any((one.get("pointer_confidence") or 0.0) >= _RELATED for one in row.get("candidates", ()))


def told(row: Row) -> list[tuple[str, str]]:
    """Return what Claude saw of memories, as pairs of one of RESULTS and a key."""
    names = zip((_INJECTED, _POINTED), RESULTS)
    return [(word, key) for name, word in names for key in row.get(name, ())]


def outcomes(row: Row) -> list[Outcome]:
    """Return the outcomes of one decision's candidates: the injected ones, then the pointers, then the rest, each best first."""
    results = [_outcome(candidate, row) for candidate in row.get("candidates", ())]
    return sorted(results, key=lambda outcome: RESULTS.index(outcome.result))


def _outcome(candidate: Row, row: Row) -> Outcome:
    """Return the outcome with one percentage, how sure recall is that the text is worth showing; a title is only "related"."""
    key, way = candidate["key"], texts("ways").get(candidate.get("way", ""), "")
    opinion = _opinion(key, row)
    sure, needed = candidate.get("confidence"), row.get("inject_threshold")
    text = way or ("?" if sure is None else percent(sure)) + " match"
    if key in row.get(_INJECTED, ()):
        return Outcome(key, _TOLD, text + opinion)
    if key in row.get(_POINTED, ()):
        return Outcome(key, _POINTED_TO, (way or "related") + opinion)
    withheld = candidate.get("withheld", "")
    if withheld in _HAD_BEFORE and row.get("tried"):
        return Outcome(key, RESULTS[_HAD_BEFORE.index(withheld)], "at the session's start")
    if withheld in _HAD_BEFORE:
        text = reason_text(withheld)
    elif withheld not in ("", *_BY_CONFIDENCE):
        opinion += "; " + reason_text(withheld)
    elif not opinion and sure is not None and needed is not None:
        needed = shifted_threshold(needed, candidate.get("shift", 0.0))
        # A judges' verdict replaces the thresholds, so a missing percentage is shown only without one.
        text += " (needs %s)" % percent(needed) if sure < needed else ""
    return Outcome(key, NOT_TOLD, text + opinion)


def _opinion(key: str, row: Row) -> str:
    """Return the judges' verdict on a candidate as text; empty if they were not asked about it."""
    votes = row.get("judge", {}).get("verdicts", {}).get(key, ())
    named = zip(("relevant", "useful"), votes)
    words = [("" if vote else "not ") + name for name, vote in named if vote is not None]
    return "; the judges: " + ", ".join(words) if words else ""


def percent(share: float) -> str:
    """Return a share in whole percent, rounded down so that a value just below a threshold does not seem to reach it."""
    return "%d%%" % int(100 * max(0.0, min(1.0, share)) + 1e-9)


def prompt_texts(rows: Sequence[Row], paths: Paths) -> dict[str, str]:
    """Return texts by prompt id for rows of the ledger `recalls`, redacted and cut; prompts without a known text are left out."""
    texts: dict[str, str] = {}
    wanted: dict[str, set[str]] = {}
    for row in rows:
        prompt_id, session, text = (row.get(name, "") for name in ("prompt_id", "session", "prompt"))
        if prompt_id and text:
            texts[prompt_id] = shown_prompt(text)
        elif prompt_id and session and session == os.path.basename(session):  # it names a file, no path
            wanted.setdefault(session, set()).add(prompt_id)
    for session in list(wanted)[-_MAX_SESSIONS:] if paths.config_dir else ():
        folder, name = map(glob.escape, (str(paths.config_dir), session + ".jsonl"))
        pattern = os.path.join(folder, "projects", "*", name)
        for path in glob.glob(pattern):
            with suppress(OSError):  # the texts read so far are still good
                _add_texts(texts, path, wanted[session])
    return texts


def shown_prompt(text: str, limit: int = _MAX_PROMPT) -> str:
    """Return the beginning of a prompt as one line without secrets and private passages."""
    shown = shown_line(without_private(text[: limit + CUT_MARGIN]))
    return shown if len(shown) <= limit else shown[: limit - 1] + "\u2026"


def _add_texts(texts: dict[str, str], path: str, ids: set[str]) -> None:
    """Add the prompts of these ids that a person typed in one transcript. Raises OSError."""
    marks = [prompt_id.encode("ascii", "ignore") for prompt_id in ids]
    with open_transcript(path) as file:
        while line := file.readline(MAX_LINE):
            if not any(mark in line for mark in marks):
                continue
            record = load_object(line, "replace")
            if record is None or record.get("promptId") not in ids:
                continue
            kind, text = user_input_of(record)
            if kind == COMMAND:  # with its name: many commands have no arguments
                _, text = kind_and_text(record, plain_text(record["message"]["content"]))
            if text:
                texts.setdefault(str(record["promptId"]), shown_prompt(text))
