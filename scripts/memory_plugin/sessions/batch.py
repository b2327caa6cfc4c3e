"""Grade many sessions through the provider's batches: submit them, record that, and collect the results in a later run.

The price of each session is reserved within the caps before it is submitted. No session is submitted twice unless it changed or the user
asks for it, not even after an error, because the provider may have charged for it.
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
from .merging import grade
from .pipeline import keep_grade
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
    from .scoring_request import PreparedSession
    from .submitted import Row

    Load = list[tuple[dict[str, Any], Question]]

__all__ = ["Collected", "Submitted", "collect", "submit", "waiting"]

_UPLOAD_SECONDS, _POLL_SECONDS = 300.0, 60.0
_SERVER = "batches"
_KEPT_SECONDS = 29 * 86400  # how long the provider keeps results (its batch documentation)
# For a batch without a name: how far the provider's clock may differ, and when the batch would be in its list at the latest.
_CLOCK_SECONDS, _LOST_SECONDS = 3600, 900
_MAYBE = (
    "The provider may have the batch anyway; the next run looks for it before anything is submitted again."
)
_UNCERTAIN = ("timeout", "network", "tls", "parse_error", "too_large", "http_408")


class Submitted(NamedTuple):
    """The result of submitting: the number of sessions, their batches, why others were refused, and how many had failed before."""

    sessions: int
    batches: list[str]
    refused: dict[str, str]
    failed_before: int = 0


class Collected(NamedTuple):
    """The rows written, why other sessions have none, and the batches that are still under way."""

    rows: list[dict[str, Any]]
    failed: dict[str, str]
    pending: list[str]


class _Sender:
    """One submission run: questions are collected into a load, and each full load is sent as a batch."""

    def __init__(self, scorer: SessionScorer, judge: Judge) -> None:
        self.scorer = scorer
        self.model = judge.model
        self.state = SubmittedBatches(scorer.paths)
        accounts = SpendingBudget(scorer.paths.state(FOLDER))
        self.client = Batches(judge.access(), judge.model, scorer.settings, accounts.refused(judge.server))
        self.batches: list[str] = []
        self.sessions = 0
        self._load: Load = []
        self._size = 0

    def add(self, asked: Load) -> None:
        """Add the questions of a session; send the load once it is large enough. Raises Failed."""
        self._load += asked
        self._size += sum(request_size(question) for _, question in asked)
        if self._size >= MAX_BATCH_BYTES:
            self.send()

    def send(self) -> None:
        """Send the load. Raises Failed; the row stays when the provider may have the batch anyway."""
        load, self._load, self._size = self._load, [], 0
        items = [item for item, _ in load]
        try:
            ticket, mine = self.state.begin(self.model, items)
        except JudgeError:
            _release(items, self.scorer)
            raise
        sent = {item["id"] for item in mine}
        _release([item for item in items if item["id"] not in sent], self.scorer)
        if not mine:
            return
        try:
            identity = self.client.submit(
                {item["id"]: question for item, question in load if item["id"] in sent},
                Deadline(_UPLOAD_SECONDS),
            )
        except JudgeError as failed:
            if self.client.sent and (failed.name in _UNCERTAIN or failed.name.startswith("http_5")):
                raise JudgeError(failed.name, " ".join(filter(None, [failed.detail, _MAYBE]))) from None
            self.state.remove({"ticket": ticket})
            _release(mine, self.scorer)
            raise
        self.state.name(ticket, identity)
        self.batches.append(identity)
        self.sessions += len({item["path"] for item in mine})


def waiting(scorer: SessionScorer) -> list[Row]:
    """Return the batches that were submitted and not collected yet."""
    return SubmittedBatches(scorer.paths).waiting()


def submit(
    paths: Sequence[str], scorer: SessionScorer, progress: Callable[[int], None], *, again: bool = False
) -> Submitted:
    """Submit the sessions that are not in a pending batch, in as many batches as their size needs.

    Those that failed in a batch before, and have not changed since, are submitted only with `again`. Raises Failed.
    """
    sender = _Sender(scorer, scorer.judge(""))
    sender.state.check()
    known = {
        item["path"] for batch in sender.state.waiting() for item in batch["items"] if isinstance(item, dict)
    }
    refused: dict[str, str] = {}
    failed_before = 0
    for at, path in enumerate(path for path in paths if path not in known):
        progress(at)
        try:
            asked = _asked(path, scorer, sender.client, sender.model)
            if not again and sender.state.has_failed(path, [item["key"] for item, _ in asked]):
                failed_before += 1
                continue
            _reserve([item for item, _ in asked], scorer)
        except (JudgeError, OSError) as error:
            refused[os.path.basename(path)] = (
                error.name if isinstance(error, JudgeError) else error_text(error)
            )
            continue
        sender.add(asked)
    sender.send()
    return Submitted(sender.sessions, sender.batches, refused, failed_before)


def _asked(path: str, scorer: SessionScorer, client: Batches, model: str) -> Load:
    """Return the questions of a session, each with what is recorded about it. Raises Failed and OSError."""
    prepared = prepare(path, scorer.settings)
    if not prepared.signals.totals.turns:
        raise JudgeError("empty")
    asked = questions(prepared)
    found: Load = []
    for at, question in enumerate(asked):
        key = question.key("anthropic", model)
        item = {
            "id": digest(("%s %d" % (key, at)).encode(), 12),
            "session": session_id(prepared),
            "path": path,
            "part": at,
            "of": len(asked),
            "key": key,
            "reserved": client.highest(question),
        }
        found.append((item, question))
    return found


def _reserve(items: Sequence[Row], scorer: SessionScorer) -> None:
    """Reserve the price of one session within the caps. Raises Failed."""
    settings = scorer.settings
    caps = Caps(*(settings.number("judge.caps.%s_usd" % span) for span in ("session", "day")))
    accounts = SpendingBudget(scorer.paths.state(FOLDER))
    accounts.admit(items[0]["session"], _SERVER, [item["reserved"] for item in items], caps)


def _release(items: Sequence[Row], scorer: SessionScorer) -> None:
    """Release what was reserved for questions that were not sent."""
    for item in items:
        _settle(str(item.get("session")), [item], [None], scorer)


def collect(scorer: SessionScorer) -> Collected:
    """Fetch finished batches and grade their sessions, one process at a time. Raises Failed; earlier grades are kept."""
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
    identity = str(batch.get("id") or "") or _claimed(batch, client, state, scorer)
    if identity is None:
        return
    if not identity or not _is_ended(batch, identity, client):
        collected.pending.append(identity or "a batch that the provider has not shown yet")
        return
    answers = {} if _age(batch) > _KEPT_SECONDS else client.results(identity, Deadline(_UPLOAD_SECONDS))
    parts = frozenset().union(*(answer.parts for answer in answers.values()))
    if parts:
        SpendingBudget(scorer.paths.state(FOLDER)).note_refused(judge.server, parts)
    failed: dict[str, Row] = {}
    for path in dict.fromkeys(item["path"] for item in batch["items"]):
        items = [item for item in batch["items"] if item["path"] == path]
        row = _graded(path, items, answers, scorer, str(batch.get("model")))
        if isinstance(row, str):
            failed[path] = {"why": row, "keys": [item["key"] for item in items]}
            collected.failed[os.path.basename(path)] = row
        else:
            collected.rows.append(row)
    state.close(batch, failed)


def _is_ended(batch: Row, identity: str, client: Batches) -> bool:
    """Return whether a batch can be collected; one older than what the provider keeps is given up."""
    try:
        return client.ended(identity, Deadline(_POLL_SECONDS))
    except JudgeError as failed:
        if failed.name != "http_404":
            raise
        return _age(batch) > _KEPT_SECONDS


def _claimed(batch: Row, client: Batches, state: SubmittedBatches, scorer: SessionScorer) -> str | None:
    """Return the id of a batch whose name was never recorded; empty while that is unknown; None when it never arrived.

    It is found by its creation time, its number of questions, and their ids in its results.
    """
    since = iso(now() - _age(batch) - _CLOCK_SECONDS)[:19]
    ids = {item["id"] for item in batch["items"]}
    named = {str(row.get("id")) for row in state.waiting()}
    try:
        listed = client.listed(Deadline(_POLL_SECONDS))
    except JudgeError:
        return ""
    maybe = [
        other
        for other in listed
        if other.created[:19] >= since and other.requests == len(ids) and other.id not in named
    ]
    for other in maybe:
        if other.ended and ids == set(client.results(other.id, Deadline(_UPLOAD_SECONDS))):
            state.name(str(batch.get("ticket")), other.id)
            return other.id
    if _age(batch) < _LOST_SECONDS or not all(other.ended for other in maybe):
        return ""
    state.remove(batch)
    _release(batch["items"], scorer)
    return None


def _age(batch: Row) -> float:
    """Return the seconds since a batch was submitted; 0 where its time cannot be read."""
    from calendar import timegm
    from time import strptime

    try:
        return max(0.0, now() - timegm(strptime(str(batch.get("submitted")), "%Y-%m-%dT%H:%M:%SZ")))
    except ValueError:
        return 0.0


def _graded(
    path: str, items: list[dict[str, Any]], answers: dict[str, BatchAnswer], scorer: SessionScorer, model: str
) -> dict[str, Any] | str:
    """Return the row of a session, or why there is none."""
    given = [answers.get(item["id"]) for item in items]
    _settle(str(items[0]["session"]), items, given, scorer)
    try:
        prepared = prepare(path, scorer.settings)
    except OSError as error:
        return error_text(error)
    asked = questions(prepared)
    if [question.key("anthropic", model) for question in asked] != [item["key"] for item in items]:
        return "the transcript changed since it was submitted"
    verdicts = [_verdict(answer) for answer in given]
    judge = scorer.judge(session_id(prepared))
    for question, verdict in zip(asked, verdicts):
        judge.record(question, verdict)
    found = grade(prepared, [verdict.values for verdict in verdicts])
    failures = [verdict.failure for verdict in verdicts if verdict.failure]
    if found is None:
        return ": ".join(filter(None, [verdicts[0].failure, verdicts[0].detail]))
    return _kept(prepared, found, verdicts, failures, scorer, model)


def _kept(
    prepared: PreparedSession,
    found: dict[str, Any],
    verdicts: list[Verdict],
    failures: list[str],
    scorer: SessionScorer,
    model: str,
) -> dict[str, Any] | str:
    costs = [verdict.cost for verdict in verdicts if verdict.cost is not None]
    cost = round(sum(costs), 6) if len(costs) == len(verdicts) else None
    by = {"by": "batch", "backend": "anthropic", "model": model, "cost_usd": cost, "failures": failures}
    graded = keep_grade(prepared, found, by, scorer, failures)
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
    session: str, items: list[dict[str, Any]], given: Sequence[BatchAnswer | None], scorer: SessionScorer
) -> None:
    """Replace what was reserved by what was spent; where that is unknown, the reservation stays."""
    ends = []
    for item, answer in zip(items, given):
        reserved = item["reserved"] if isinstance(item.get("reserved"), (int, float)) else 0.0
        spent = 0.0 if answer is None else reserved if answer.cost is None else answer.cost
        ends.append(Settlement(reserved, spent, "", None))
    try:
        SpendingBudget(scorer.paths.state(FOLDER)).settle(session, _SERVER, ends)
    except JudgeError:
        return  # what was reserved stays spent
