"""Grade many sessions through the provider's batches: submit them, record that, and collect the results in a later run.

Each session's price is reserved within the caps before it is submitted. A session is submitted again only if it changed or the user asks
for it, even after an error, because the provider may have charged for it.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, NamedTuple

from ..kernel.clock import Deadline, iso, now
from ..kernel.fastjson import digest
from ..kernel.files import error_text
from ..kernel.judge.asking import FOLDER
from ..kernel.judge.batches import MAX_BATCH_BYTES, Batches, request_size
from ..kernel.judge.budget import Caps, Settlement, SpendingBudget
from ..kernel.judge.errors import JudgeError
from ..kernel.judge.question import Verdict, read_reply
from ..kernel.locks import Busy
from .merging import merge_answers
from .pipeline import store_grade, total_cost
from .score_rows import session_id
from .scorer_reply import read_scores
from .scoring_request import prepare, questions
from .submitted import SubmittedBatches

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..kernel.judge.asking import Judge
    from ..kernel.judge.batches import BatchAnswer
    from ..kernel.judge.question import Question
    from .pipeline import SessionScorer
    from .submitted import Row

    RecordedQuestions = list[tuple[Row, Question]]  # each with its record in `grading/batches.json`

__all__ = ["Collected", "Submitted", "collect", "submit", "waiting"]

_UPLOAD_SECONDS, _POLL_SECONDS = 300.0, 60.0
_SERVER = "batches"
_RETENTION_SECONDS = 29 * 86400  # how long the provider keeps results (its batch documentation)
# For a batch without an id: how far the provider's clock may differ, and how long the batch may take to appear in its list.
_CLOCK_SECONDS, _LISTING_SECONDS = 3600, 900
_MAYBE = (
    "The provider may have the batch anyway; the next run looks for it before anything is submitted again."
)
_UNCERTAIN = ("timeout", "network", "tls", "parse_error", "too_large", "http_408")


class Submitted(NamedTuple):
    """The number of submitted sessions, their batches, the refused ones with reasons, and how many were skipped as failed before."""

    sessions: int
    batches: list[str]
    refused: dict[str, str]
    failed_before: int = 0


class Collected(NamedTuple):
    """The rows written, the sessions without one with reasons, and the pending batches."""

    rows: list[dict[str, Any]]
    failed: dict[str, str]
    pending: list[str]


class _Sender:
    """One submission run: questions are collected, and sent as a batch whenever they reach its maximum size."""

    def __init__(self, scorer: SessionScorer, judge: Judge) -> None:
        self.scorer = scorer
        self.model = judge.model
        self.state = SubmittedBatches(scorer.paths)
        accounts = SpendingBudget(scorer.paths.state(FOLDER))
        self.client = Batches(judge.access(), judge.model, scorer.settings, accounts.refused(judge.server))
        self.batches: list[str] = []
        self.sessions = 0
        self._unsent: RecordedQuestions = []
        self._size = 0

    def add(self, recorded: RecordedQuestions) -> None:
        """Add a session's questions; send a batch once they are large enough. Raises JudgeError."""
        self._unsent += recorded
        self._size += sum(request_size(question) for _, question in recorded)
        if self._size >= MAX_BATCH_BYTES:
            self.send()

    def send(self) -> None:
        """Send the collected questions. Raises JudgeError; the row remains if the provider may have the batch anyway."""
        recorded, self._unsent, self._size = self._unsent, [], 0
        items = [item for item, _ in recorded]
        try:
            ticket, claimed = self.state.begin(self.model, items)
        except JudgeError:
            _release(items, self.scorer)
            raise
        claimed_ids = {item["id"] for item in claimed}
        _release([item for item in items if item["id"] not in claimed_ids], self.scorer)
        if not claimed:
            return
        by_id = {item["id"]: question for item, question in recorded if item["id"] in claimed_ids}
        try:
            identity = self.client.submit(by_id, Deadline(_UPLOAD_SECONDS))
        except JudgeError as failed:
            if self.client.sent and (failed.name in _UNCERTAIN or failed.name.startswith("http_5")):
                raise JudgeError(failed.name, " ".join(filter(None, [failed.detail, _MAYBE]))) from None
            self.state.remove({"ticket": ticket})
            _release(claimed, self.scorer)
            raise
        self.state.name(ticket, identity)
        self.batches.append(identity)
        self.sessions += len({item["path"] for item in claimed})


def waiting(scorer: SessionScorer) -> list[Row]:
    """Return the batches that were submitted and not collected yet."""
    return SubmittedBatches(scorer.paths).waiting()


def submit(
    paths: Sequence[str], scorer: SessionScorer, progress: Callable[[int], None], *, again: bool = False
) -> Submitted:
    """Submit the sessions that are not in a pending batch, in as many batches as their size requires.

    Sessions that failed in an earlier batch and have not changed since are submitted only with `again`. Raises JudgeError.
    """
    sender = _Sender(scorer, scorer.judge(""))
    sender.state.check()
    pending = {
        item["path"] for batch in sender.state.waiting() for item in batch["items"] if isinstance(item, dict)
    }
    refused: dict[str, str] = {}
    failed_before = 0
    for at, path in enumerate(path for path in paths if path not in pending):
        progress(at)
        try:
            recorded = _recorded_questions(path, scorer, sender.client, sender.model)
            if not again and sender.state.has_failed(path, [item["key"] for item, _ in recorded]):
                failed_before += 1
                continue
            _reserve([item for item, _ in recorded], scorer)
        except (JudgeError, OSError) as error:
            refused[os.path.basename(path)] = (
                error.name if isinstance(error, JudgeError) else error_text(error)
            )
            continue
        sender.add(recorded)
    sender.send()
    return Submitted(sender.sessions, sender.batches, refused, failed_before)


def _recorded_questions(path: str, scorer: SessionScorer, client: Batches, model: str) -> RecordedQuestions:
    """Return a session's questions, each with its record. Raises JudgeError and OSError."""
    prepared = prepare(path, scorer.settings)
    if not prepared.signals.totals.turns:
        raise JudgeError("empty")
    parts = questions(prepared)
    recorded: RecordedQuestions = []
    for at, question in enumerate(parts):
        key = question.key("anthropic", model)
        item = {
            "id": digest(("%s %d" % (key, at)).encode(), 12),
            "session": session_id(prepared),
            "path": path,
            "part": at,
            "of": len(parts),
            "key": key,
            "reserved": client.highest(question),
        }
        recorded.append((item, question))
    return recorded


def _reserve(items: Sequence[Row], scorer: SessionScorer) -> None:
    """Reserve the price of one session within the caps. Raises JudgeError."""
    settings = scorer.settings
    caps = Caps(*(settings.number("judge.caps.%s_usd" % span) for span in ("session", "day")))
    accounts = SpendingBudget(scorer.paths.state(FOLDER))
    accounts.admit(items[0]["session"], _SERVER, [item["reserved"] for item in items], caps)


def _release(items: Sequence[Row], scorer: SessionScorer) -> None:
    """Release the reservations of questions that were not sent."""
    for item in items:
        _settle(str(item.get("session")), [item], [None], scorer)


def collect(scorer: SessionScorer) -> Collected:
    """Fetch finished batches and grade their sessions, in one process at a time. Raises JudgeError; earlier grades remain."""
    state = SubmittedBatches(scorer.paths)
    collected = Collected([], {}, [])
    try:
        with state.collecting():
            for batch in state.waiting():
                _collect_one(batch, state, scorer, collected)
    except Busy:
        return Collected([], {}, [str(batch.get("id")) for batch in state.waiting()])
    return collected


def _collect_one(batch: Row, state: SubmittedBatches, scorer: SessionScorer, collected: Collected) -> None:
    judge = scorer.judge("")
    client = Batches(judge.access(), str(batch.get("model")), scorer.settings)
    identity = str(batch.get("id") or "") or _find_lost_batch(batch, client, state, scorer)
    if identity is None:
        return
    if not identity or not _is_ended(batch, identity, client):
        collected.pending.append(identity or "a batch that the provider has not shown yet")
        return
    answers = {} if _age(batch) > _RETENTION_SECONDS else client.results(identity, Deadline(_UPLOAD_SECONDS))
    parts = frozenset().union(*(answer.parts for answer in answers.values()))
    if parts:
        SpendingBudget(scorer.paths.state(FOLDER)).note_refused(judge.server, parts)
    failed: dict[str, Row] = {}
    for path in dict.fromkeys(item["path"] for item in batch["items"]):
        items = [item for item in batch["items"] if item["path"] == path]
        row = _grade_answers(path, items, answers, scorer, str(batch.get("model")))
        if isinstance(row, str):
            failed[path] = {"why": row, "keys": [item["key"] for item in items]}
            collected.failed[os.path.basename(path)] = row
        else:
            collected.rows.append(row)
    state.close(batch, failed)


def _is_ended(batch: Row, identity: str, client: Batches) -> bool:
    """Return whether a batch can be collected; a missing batch counts as ended once the provider would have deleted it."""
    try:
        return client.ended(identity, Deadline(_POLL_SECONDS))
    except JudgeError as failed:
        if failed.name != "http_404":
            raise
        return _age(batch) > _RETENTION_SECONDS


def _find_lost_batch(
    batch: Row, client: Batches, state: SubmittedBatches, scorer: SessionScorer
) -> str | None:
    """Return the id of a batch whose id was never recorded; empty while it is unknown; None if the provider never got the batch.

    It is found by its creation time, its number of questions, and their ids in its results.
    """
    since = iso(now() - _age(batch) - _CLOCK_SECONDS)[:19]
    ids = {item["id"] for item in batch["items"]}
    recorded_ids = {str(row.get("id")) for row in state.waiting()}
    try:
        listed = client.listed(Deadline(_POLL_SECONDS))
    except JudgeError:
        return ""
    candidates = [
        other
        for other in listed
        if other.created[:19] >= since and other.requests == len(ids) and other.id not in recorded_ids
    ]
    for candidate in candidates:
        if candidate.ended and ids == set(client.results(candidate.id, Deadline(_UPLOAD_SECONDS))):
            state.name(str(batch.get("ticket")), candidate.id)
            return candidate.id
    if _age(batch) < _LISTING_SECONDS or not all(candidate.ended for candidate in candidates):
        return ""
    state.remove(batch)
    _release(batch["items"], scorer)
    return None


def _age(batch: Row) -> float:
    """Return the seconds since a batch was submitted; 0 if its time cannot be read."""
    from calendar import timegm
    from time import strptime

    try:
        return max(0.0, now() - timegm(strptime(str(batch.get("submitted")), "%Y-%m-%dT%H:%M:%SZ")))
    except ValueError:
        return 0.0


def _grade_answers(
    path: str, items: list[dict[str, Any]], answers: dict[str, BatchAnswer], scorer: SessionScorer, model: str
) -> dict[str, Any] | str:
    """Return a session's row, or the reason why there is none."""
    part_answers = [answers.get(item["id"]) for item in items]
    _settle(str(items[0]["session"]), items, part_answers, scorer)
    try:
        prepared = prepare(path, scorer.settings)
    except OSError as error:
        return error_text(error)
    parts = questions(prepared)
    if [question.key("anthropic", model) for question in parts] != [item["key"] for item in items]:
        return "the transcript changed since it was submitted"
    verdicts = [_verdict(answer) for answer in part_answers]
    judge = scorer.judge(session_id(prepared))
    for question, verdict in zip(parts, verdicts):
        judge.record(question, verdict)
    grade = merge_answers(prepared, [verdict.values for verdict in verdicts])
    failures = [verdict.failure for verdict in verdicts if verdict.failure]
    if grade is None:
        return ": ".join(filter(None, [verdicts[0].failure, verdicts[0].detail]))
    cost = total_cost(verdicts)
    by = {"by": "batch", "backend": "anthropic", "model": model, "cost_usd": cost, "failures": failures}
    graded = store_grade(prepared, grade, by, scorer, failures)
    return graded.detail if graded.detail or graded.row is None else graded.row


def _verdict(answer: BatchAnswer | None) -> Verdict:
    if answer is None:
        return Verdict(None, "expired", "the batch has no answer to this question")
    values = None if answer.text is None else read_reply(answer.text, read_scores)
    failure = answer.failure or ("" if values is not None else "parse_error")
    verdict = Verdict(values, failure, answer.detail)
    verdict.tokens_in, verdict.tokens_out, verdict.cost = answer.tokens_in, answer.tokens_out, answer.cost
    return verdict


def _settle(
    session: str, items: list[dict[str, Any]], answers: Sequence[BatchAnswer | None], scorer: SessionScorer
) -> None:
    """Replace the reserved prices by the actual costs; the reservation stays if the cost is unknown."""
    settlements = []
    for item, answer in zip(items, answers):
        reserved = item["reserved"] if isinstance(item.get("reserved"), (int, float)) else 0.0
        spent = 0.0
        if answer is not None:
            spent = reserved if answer.cost is None else answer.cost
        settlements.append(Settlement(reserved, spent, "", None))
    try:
        SpendingBudget(scorer.paths.state(FOLDER)).settle(session, _SERVER, settlements)
    except JudgeError:
        return  # the reservation stays
