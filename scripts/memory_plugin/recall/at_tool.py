"""Recall at a tool call, from top to bottom: the memories about its file or error, the session's history, choice, block, record.

The index says which memories name a file. After a failed command, the command and its error are looked up like a prompt, and a model of
its own rates the first few matches.
"""

from __future__ import annotations

from math import log

from ..kernel.context import Context, now_iso
from ..kernel.fastjson import as_object
from ..kernel.paths import load_data
from ..kernel.text.words import stems
from .confidence import logistic
from .decision import Limits, apply_feedback, choose, render_answer
from .gate import Answer
from .history import FAILURE, TOOL, RecallHistory, remaining_for_tools
from .index_file import INDEX_ERRORS, index_path, open_index
from .pipeline import Lookup, candidate_row
from .project_files import FILE, FOLDER, PATTERN, WAYS, naming
from .ranking import CATEGORIES, HIT_COLUMNS, Hit, Hits

_MAX_TEXTS, _MAX_POINTERS = 1, 2
_MAX_CHARACTERS = 9000
_LOCK_WAIT = 0.15  # seconds
_BOTH, _ONE = "both", "one"  # as from the judges: approved for the full text, or for a pointer
_ORDER = ("CONSTRAINT", *(category for category in CATEGORIES if category != "CONSTRAINT"))

MAX_EXAMINED = 3  # matches of a failed command
_POOL = 15
_SECONDS = 2.0
_MAX_COMMAND = 1000
_MAX_ERROR = 2000  # characters; the cause is usually at the end of an error
_EXIT_CODE = "Exit code "
_COLOR = "\x1b["
_MAX_LEAD = 3.0
_TINY = 1e-9
_OF_MATCH = ("answers", "concerns", "title_held", "pairs", "unasked")
_FIXING = ("RUNBOOK", "TECH_DEBT", "CONSTRAINT")


def recall_at_file(answer: Answer, files: dict[str, bool], agent: str, context: Context) -> None:
    """Fill in the answer to a call on a file, given as path -> whether it is new.

    A memory gets only a pointer if it names the file in an uncertain way, or if users called it wrong.
    """
    if not remaining_for_tools(RecallHistory(context.paths, context.session, TOOL, agent), context.settings):
        return
    try:
        hits = _documents(files, context)
    except INDEX_ERRORS:
        return
    apply_feedback(hits, context)
    certain = {hit.key for hit in hits if hit.way in (FILE, PATTERN, FOLDER) and hit.shift <= 0}
    _fill(answer, hits, {hit.key: _BOTH if hit.key in certain else _ONE for hit in hits}, agent, context)


def _documents(files: dict[str, bool], context: Context) -> Hits:
    """Return the memories that name a file and may be injected, the most certain first. Raises INDEX_ERRORS."""
    connection = open_index(index_path(context.paths))
    try:
        named = naming(connection, files)
        rows = connection.execute(
            "SELECT %s FROM documents WHERE injectable = 1 AND (expires_at = '' OR expires_at > ?) AND key IN (%s) "
            "ORDER BY updated_at DESC" % (HIT_COLUMNS, ",".join("?" * len(named))),
            [now_iso(), *named],
        ).fetchall()
    finally:
        connection.close()
    hits = list(map(Hit, rows))
    for hit in hits:
        hit.way = named[hit.key]
    order = dict(zip(_ORDER, range(len(_ORDER))))
    return sorted(hits, key=lambda hit: (WAYS.index(hit.way), order.get(hit.category, len(order))))


class FailedCommand:
    """The head of a command, and the text to look up: that, and the tail of its error without colors and the exit code."""

    def __init__(self, command: str, error: str) -> None:
        first, _, rest = error.partition("\n")
        if first.startswith(_EXIT_CODE) and first[len(_EXIT_CODE) :].strip().isdigit():
            error = rest  # the client prepends this line
        plain, *colored = error[-2 * _MAX_ERROR :].split(_COLOR)
        plain += "".join(part.lstrip("0123456789;?")[1:] for part in colored)
        self.command = command[:_MAX_COMMAND]
        self.text = self.command + "\n" + plain[-_MAX_ERROR:]


def failed_command(payload: dict[str, object]) -> FailedCommand | None:
    """Return the command that failed and its error; None if it was interrupted or refused, or the tool runs no command."""
    command, error = as_object(payload.get("tool_input")).get("command"), payload.get("error")
    if payload.get("is_interrupt") is True or not isinstance(command, str) or not isinstance(error, str):
        return None
    if not error.strip() or error.lstrip().startswith(tuple(load_data("recall", "refused")["starts"])):
        return None
    return FailedCommand(command, error)


def recall_at_failure(answer: Answer, failed: FailedCommand, agent: str, context: Context) -> None:
    """Fill in the answer to a failed command."""
    history = RecallHistory(context.paths, context.session, FAILURE, agent)
    if not remaining_for_tools(history, context.settings):
        return
    hits = _grade(failed, Lookup(answer, context.within(_SECONDS)).best(failed.text, "", _POOL))
    apply_feedback(hits, context)
    _fill(answer, hits, {}, agent, context)


def _grade(failed: FailedCommand, hits: Hits) -> Hits:
    """Return the first few hits with the confidences of the failure model, the most confident first."""
    model = {name: entry["value"] for name, entry in load_data("recall", "failures")["entries"].items()}
    examined = hits[:MAX_EXAMINED]
    for hit, signals in zip(examined, failure_signals(failed, hits)):
        hit.signals = {**hit.signals, **signals}
        hit.confidence = logistic(signals, model["injects"])
        hit.pointer_confidence = logistic(signals, model["points"])
    return sorted(examined, key=lambda hit: -hit.pointer_confidence)


def failure_signals(failed: FailedCommand, hits: Hits) -> list[dict[str, float]]:
    """Return the signals of the first few matches of a failed command, best match first.

    spoken, number: log of the weight, and of the number, of the words that a match shares with the text outside paths
    commanded: log of the weight of the words that it shares with the command
    over: its score over that of the best other match
    fixing: 1 for the categories that say what to do about a failure
    The others are signals of a match (`confidence.py`).
    """
    spoken = stems(" ".join(word for word in failed.text.split() if "/" not in word))
    commanded = stems(failed.command)
    rows = []
    for hit in hits[:MAX_EXAMINED]:
        terms = hit.terms
        best_other = max((other.score for other in hits if other is not hit), default=0.0)
        rows.append(
            {
                **{name: hit.signals[name] for name in _OF_MATCH},
                "spoken": log(1 + sum(part for term, part in terms.items() if term in spoken)),
                "number": log(1 + sum(term in spoken for term in terms)),
                "commanded": log(1 + sum(part for term, part in terms.items() if term in commanded)),
                "over": min(_MAX_LEAD, hit.score / (best_other + _TINY)),
                "fixing": float(hit.category in _FIXING),
            }
        )
    return rows


def _fill(answer: Answer, hits: Hits, approvals: dict[str, str], agent: str, context: Context) -> None:
    """Choose under the lock of the session's history, so that parallel calls do not repeat a memory, and fill in the answer."""
    if not hits:
        return
    place, settings = str(answer.record["place"]), context.settings
    wait = min(_LOCK_WAIT, context.deadline.remaining())
    try:
        with RecallHistory(context.paths, context.session, place, agent, wait) as history:
            left = remaining_for_tools(history, settings)
            limits = Limits(settings, _MAX_CHARACTERS)
            limits.max_inject = min(limits.max_inject, _MAX_TEXTS, left)
            limits.max_pointers = min(limits.max_pointers, _MAX_POINTERS, left)
            choice = choose(hits, approvals, limits, history)
            del choice.pointers[max(0, left - len(choice.full)) :]
            if choice.full or choice.pointers:
                render_answer(answer, choice, history, settings.text("retrieval.receipt"))
                answer.record["candidates"] = list(map(candidate_row, choice.full + choice.pointers))
    except OSError:
        return
