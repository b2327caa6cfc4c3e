"""Grading many sessions through one batch: submitted, remembered, collected by a later run.

What was submitted lies in `grading/batches.json` in the state folder, without any text.  Each session's price is reserved within the caps
before it is submitted.  A process that is killed between submitting and remembering leaves that one batch unclaimed.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, NamedTuple

from ..kernel.clock import Deadline, now_iso
from ..kernel.files import Unreadable, in_words, make_folder, read_regular, replace_file
from ..kernel.judge.accounts import Accounts, Caps, Settlement
from ..kernel.judge.batches import HALF, MOST_BYTES, Batches, request_size
from ..kernel.judge.billing import Billing
from ..kernel.judge.judge import FOLDER
from ..kernel.judge.outcome import Failed
from ..kernel.judge.question import Verdict
from ..kernel.judge.reply import read_reply
from ..kernel.native import digest, dumps, loads
from .merging import grade
from .pipeline import keep_grade
from .score_rows import session_id
from .scorer_reply import read_scores
from .scoring_request import prepare, questions

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..kernel.judge.batches import Answer
    from ..kernel.judge.question import Question
    from .pipeline import SessionScorer as Scorer
    from .scoring_request import PreparedSession as Prepared

__all__ = ["Collected", "Submitted", "collect", "submit", "waiting"]

_UPLOAD_SECONDS, _POLL_SECONDS = 300.0, 60.0
_MOST_STATE = 16 << 20
_SERVER = "batches"


class Submitted(NamedTuple):
    """How many sessions went out, in which batches, and why others did not."""

    sessions: int
    batches: list[str]
    refused: dict[str, str]


class Collected(NamedTuple):
    """The rows written, why sessions have none, and the batches that are still worked on."""

    rows: list[dict[str, Any]]
    failed: dict[str, str]
    pending: list[str]


def waiting(scorer: Scorer) -> list[dict[str, Any]]:
    """The batches that were submitted and not collected yet."""
    try:
        found = loads(read_regular(_state(scorer), _MOST_STATE)[0].decode("ascii"))
    except (FileNotFoundError, Unreadable, ValueError):
        return []
    rows = found.get("batches") if isinstance(found, dict) else None
    return (
        [row for row in rows if isinstance(row, dict) and isinstance(row.get("items"), list)]
        if isinstance(rows, list)
        else []
    )


def submit(paths: Sequence[str], scorer: Scorer, progress: Callable[[int], None]) -> Submitted:
    """Submit the sessions that no batch waits for, in as many batches as their size asks for. Raises Failed before anything is sent."""
    judge = scorer.judge("")
    client = Batches(judge.access(), judge.model, scorer.settings)
    known = {item["path"] for batch in waiting(scorer) for item in batch["items"] if isinstance(item, dict)}
    refused: dict[str, str] = {}
    batches: list[str] = []
    sessions = size = 0
    load: dict[str, Question] = {}
    items: list[dict[str, Any]] = []
    for at, path in enumerate(path for path in paths if path not in known):
        progress(at)
        try:
            asked = _reserved(path, scorer, judge.model)
        except (Failed, OSError) as error:
            refused[os.path.basename(path)] = error.name if isinstance(error, Failed) else in_words(error)
            continue
        for item, question in asked:
            items.append(item)
            load[item["id"]] = question
            size += request_size(question)
        sessions += 1
        if size >= MOST_BYTES:
            batches.append(_send(client, load, items, scorer))
            load, items, size = {}, [], 0
    if load:
        batches.append(_send(client, load, items, scorer))
    return Submitted(sessions, batches, refused)


def _reserved(path: str, scorer: Scorer, model: str) -> list[tuple[dict[str, Any], Question]]:
    """The questions of a session, their price reserved. Raises Failed and OSError."""
    prepared = prepare(path, scorer.settings)
    if not prepared.signals.totals.turns:
        raise Failed("empty")
    asked = questions(prepared)
    settings = scorer.settings
    billing = Billing(model, "anthropic", settings.block("judge.prices"))
    needs = [billing.highest(question, plain=False) * HALF for question in asked]
    caps = Caps(*(settings.number("judge.caps.%s_usd" % span) for span in ("session", "day")))
    Accounts(scorer.places.state(FOLDER)).admit(session_id(prepared), _SERVER, needs, caps)
    keys = [question.key("anthropic", model) for question in asked]
    return [
        (
            {
                "id": digest(("%s %d" % (key, at)).encode(), 12),
                "session": session_id(prepared),
                "path": path,
                "part": at,
                "of": len(asked),
                "key": key,
                "reserved": need,
            },
            question,
        )
        for at, (key, need, question) in enumerate(zip(keys, needs, asked))
    ]


def _send(client: Batches, load: dict[str, Question], items: list[dict[str, Any]], scorer: Scorer) -> str:
    try:
        identity = client.submit(load, Deadline(_UPLOAD_SECONDS))
    except Failed:
        for item in items:
            _settle(item["session"], [item], [None], scorer)
        raise
    _remember(
        [
            *waiting(scorer),
            {
                "id": identity,
                "submitted": now_iso(),
                "model": scorer.settings.text("sessions.judge.model"),
                "items": items,
            },
        ],
        scorer,
    )
    return identity


def collect(scorer: Scorer) -> Collected:
    """Fetch what is done, and grade it. Raises Failed; what was graded before that stays graded."""
    rows: list[dict[str, Any]] = []
    failed: dict[str, str] = {}
    pending: list[str] = []
    judge = scorer.judge("")
    for batch in waiting(scorer):
        client = Batches(judge.access(), str(batch.get("model")), scorer.settings)
        identity = str(batch.get("id"))
        if not client.ended(identity, Deadline(_POLL_SECONDS)):
            pending.append(identity)
            continue
        answers = client.results(identity, Deadline(_UPLOAD_SECONDS))
        for path in dict.fromkeys(item["path"] for item in batch["items"]):
            items = [item for item in batch["items"] if item["path"] == path]
            row = _graded(path, items, answers, scorer, str(batch.get("model")))
            if isinstance(row, str):
                failed[os.path.basename(path)] = row
            else:
                rows.append(row)
        _remember([other for other in waiting(scorer) if other.get("id") != identity], scorer)
    return Collected(rows, failed, pending)


def _graded(
    path: str, items: list[dict[str, Any]], answers: dict[str, Answer], scorer: Scorer, model: str
) -> dict[str, Any] | str:
    """The row of a session, or why there is none."""
    try:
        prepared = prepare(path, scorer.settings)
    except OSError as error:
        return in_words(error)
    asked = questions(prepared)
    given = [answers.get(item["id"]) for item in items]
    _settle(session_id(prepared), items, given, scorer)
    if [question.key("anthropic", model) for question in asked] != [item["key"] for item in items]:
        return "the transcript changed since it was submitted"
    verdicts = [_verdict(answer) for answer in given]
    judge = scorer.judge(session_id(prepared))
    for question, verdict in zip(asked, verdicts):
        judge.write_down(question, verdict)
    found = grade(prepared, [verdict.values for verdict in verdicts])
    failures = [verdict.failure for verdict in verdicts if verdict.failure]
    if found is None:
        return failures[0]
    return _kept(prepared, found, verdicts, failures, scorer, model)


def _kept(
    prepared: Prepared,
    found: dict[str, Any],
    verdicts: list[Verdict],
    failures: list[str],
    scorer: Scorer,
    model: str,
) -> dict[str, Any] | str:
    costs = [verdict.cost for verdict in verdicts if verdict.cost is not None]
    cost = round(sum(costs), 6) if len(costs) == len(verdicts) else None
    by = {"by": "batch", "backend": "anthropic", "model": model, "cost_usd": cost, "failures": failures}
    graded = keep_grade(prepared, found, by, scorer, failures)
    return graded.detail if graded.detail or graded.row is None else graded.row


def _verdict(answer: Answer | None) -> Verdict:
    if answer is None:
        return Verdict(None, "expired", "the batch holds no answer to this")
    values = None if answer.text is None else read_reply(answer.text, read_scores)
    verdict = Verdict(values, answer.failure or ("" if values is not None else "parse_error"))
    verdict.tokens_in, verdict.tokens_out, verdict.cost = answer.tokens_in, answer.tokens_out, answer.cost
    return verdict


def _settle(
    session: str, items: list[dict[str, Any]], given: Sequence[Answer | None], scorer: Scorer
) -> None:
    """Put what was spent in place of what was reserved; where it is unknown, the reservation stays."""
    ends = []
    for item, answer in zip(items, given):
        reserved = item["reserved"] if isinstance(item.get("reserved"), (int, float)) else 0.0
        spent = 0.0 if answer is None else reserved if answer.cost is None else answer.cost
        ends.append(Settlement(reserved, spent, "", None))
    try:
        Accounts(scorer.places.state(FOLDER)).settle(session, _SERVER, ends)
    except Failed:
        return  # what was reserved stays spent


def _state(scorer: Scorer) -> str:
    return scorer.places.state("grading", "batches.json")


def _remember(batches: list[dict[str, Any]], scorer: Scorer) -> None:
    path = _state(scorer)
    make_folder(os.path.dirname(path))
    replace_file(path, dumps({"batches": batches}).encode("ascii"))
