"""The Message Batches API: many questions at half the price, answered within a day.

POST /v1/messages/batches               {"requests": [{"custom_id", "params"}]}
GET  /v1/messages/batches?limit=100     {"data": [{"id", "created_at", "request_counts"}]}, newest first
GET  /v1/messages/batches/{id}          processing_status: in_progress, canceling, ended
GET  /v1/messages/batches/{id}/results  one JSON object a line, in any order
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote

from ..clock import iso, now
from ..fastjson import dumps, loads
from .backends.anthropic import FORMAT
from .calls import CallOutcome, value_at
from .certificates import tls_context
from .errors import JudgeError
from .models import RequestOptions, family_of, rejected_parts
from .prices import Billing
from .transport import Request, fetch

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..clock import Deadline
    from ..settings.load import Settings
    from .credentials import ServerAccess
    from .question import Question

__all__ = ["BATCH_DISCOUNT", "MAX_BATCH_BYTES", "BatchAnswer", "BatchInfo", "Batches", "request_size"]

BATCH_DISCOUNT = 0.5  # of the price of single calls (the provider's price list)
# The provider accepts 256 MB, but a slow connection does not deliver that in time.
MAX_BATCH_BYTES = 30 << 20
_MAX_RESULTS_BYTES = 128 << 20
_MAX_LISTED = 100  # the largest page of the provider's list
_PATH = "/v1/messages/batches"
_OK = 200
_FAILURES = {429: "rate_limited", 503: "overloaded", 529: "overloaded"}
# The provider's names for errors of one request; other names are not repeated.
_ERRORS = frozenset(
    ["invalid_request_error", "authentication_error", "billing_error", "permission_error", "not_found_error",
     "request_too_large", "rate_limit_error", "timeout_error", "api_error", "overloaded_error"]
)  # fmt: skip


class BatchAnswer(NamedTuple):
    """One result: the text or the name of the failure, the tokens and the cost, each None if unknown.

    `detail` explains a failure; `parts` are the parts of the request that the provider rejected by name.
    """

    text: str | None
    failure: str
    tokens_in: int | None
    tokens_out: int | None
    cost: float | None
    detail: str = ""
    parts: frozenset[str] = frozenset()


class BatchInfo(NamedTuple):
    """A batch in the provider's list: when it was created (ISO 8601), the number of its requests, and whether it has ended."""

    id: str
    created: str
    requests: int
    ended: bool


class Batches:
    """The batches of one model at one provider; each method raises JudgeError.

    `refused` are the parts of a request that the model has rejected before. `sent` says whether any byte of the last request was sent: if
    so, the provider may have received it, whatever the response was.
    """

    def __init__(
        self, access: ServerAccess, model: str, settings: Settings, refused: frozenset[str] = frozenset()
    ) -> None:
        self.sent = False
        self._access = access
        self._model = model
        self._options = RequestOptions(family_of(model, "anthropic", iso(now())[:10]), refused)
        self._billing = Billing(model, "anthropic", settings.block("judge.prices"))

    def highest(self, question: Question) -> float:
        """Return the highest possible cost of a question in a batch, in US dollars."""
        return self._billing.highest(question, self._options.max_tokens(question)) * BATCH_DISCOUNT

    def submit(self, questions: Mapping[str, Question], deadline: Deadline) -> str:
        """Submit questions by id; return the id of the new batch."""
        requests = [
            {"custom_id": name, "params": FORMAT.body(question, self._model, self._options)}
            for name, question in questions.items()
        ]
        payload = self._json("POST", _PATH, deadline, dumps({"requests": requests}).encode("ascii"))
        identity = payload.get("id")
        if not isinstance(identity, str) or not identity:
            raise JudgeError("parse_error", "the response names no batch")
        return identity

    def listed(self, deadline: Deadline) -> list[BatchInfo]:
        """Return the provider's newest batches."""
        rows = self._json("GET", "%s?limit=%d" % (_PATH, _MAX_LISTED), deadline).get("data")
        batches = []
        for row in rows if isinstance(rows, list) else ():
            counts = value_at(row, "request_counts")
            total = sum(n for n in counts.values() if isinstance(n, int)) if isinstance(counts, dict) else 0
            identity, created = value_at(row, "id"), value_at(row, "created_at")
            if isinstance(identity, str) and isinstance(created, str):
                has_ended = value_at(row, "processing_status") == "ended"
                batches.append(BatchInfo(identity, created, total, has_ended))
        return batches

    def ended(self, batch: str, deadline: Deadline) -> bool:
        """Return whether a batch has ended."""
        payload = self._json("GET", "%s/%s" % (_PATH, quote(batch, safe="")), deadline)
        return payload.get("processing_status") == "ended"

    def results(self, batch: str, deadline: Deadline) -> dict[str, BatchAnswer]:
        """Return the answers of a batch by the ids of its questions; invalid lines are skipped."""
        body = self._fetch(
            "GET", "%s/%s/results" % (_PATH, quote(batch, safe="")), deadline, None, _MAX_RESULTS_BYTES
        )
        answers = {}
        for line in body.split(b"\n"):
            try:
                row = loads(line.decode("utf-8"))
            except ValueError:
                continue
            name = value_at(row, "custom_id")
            if isinstance(name, str):
                answers[name] = self._answer(value_at(row, "result"))
        return answers

    def _answer(self, result: object) -> BatchAnswer:
        kind = str(value_at(result, "type"))
        message = value_at(result, "message")
        if kind != "succeeded" or not isinstance(message, dict):
            return self._failed(kind, value_at(result, "error"))
        try:
            text = FORMAT.read(message)
        except JudgeError as failed:
            return BatchAnswer(None, failed.name, None, None, None, failed.detail)
        outcome = CallOutcome()
        outcome.sent = True
        outcome.tokens_in, outcome.tokens_out = text.tokens_in, text.tokens_out
        cost = self._billing.cost(outcome)
        cost = None if cost is None else cost * BATCH_DISCOUNT
        return BatchAnswer(
            None if text.failure else text.text, text.failure, text.tokens_in, text.tokens_out, cost
        )

    def _failed(self, kind: str, error: object) -> BatchAnswer:
        """Return the failure of a request, which is not charged.

        The provider's message is left out because it may quote the request. The name of the error and the rejected parts are kept.
        """
        if kind != "errored":
            failure = kind if kind in ("expired", "canceled") else "parse_error"
            return BatchAnswer(None, failure, None, None, 0.0)
        name = str(value_at(error, "error", "type") or value_at(error, "type"))
        parts = rejected_parts(dumps({"error": error}).encode("ascii"), FORMAT.names) & self._options.sent()
        details = [name if name in _ERRORS else "an unknown error"]
        if parts:
            details.append("it refuses: %s" % ", ".join(sorted(parts)))
        return BatchAnswer(None, "errored", None, None, 0.0, "; ".join(details), parts)

    def _json(self, method: str, path: str, deadline: Deadline, body: bytes | None = None) -> dict[str, Any]:
        try:
            payload = loads(self._fetch(method, path, deadline, body).decode("utf-8"))
        except ValueError:
            raise JudgeError("parse_error", "the response is not JSON") from None
        if not isinstance(payload, dict):
            raise JudgeError("parse_error", "the response is not a JSON object")
        return payload

    def _fetch(
        self, method: str, path: str, deadline: Deadline, body: bytes | None, max_body: int = 1 << 20
    ) -> bytes:
        tls = tls_context(self._access) if self._access.address.scheme == "https" else None
        outcome = CallOutcome()
        try:
            request = Request(method, path, FORMAT.headers, body, max_body)
            response = fetch(self._access, request, deadline, outcome, tls)
        finally:
            self.sent = outcome.sent
        if response.status != _OK:
            raise JudgeError(_FAILURES.get(response.status, "http_%d" % response.status))
        return response.body


def request_size(question: Question) -> int:
    """Return the approximate size of a question in a batch, in bytes."""
    return len(question.message.encode("utf-8", "replace")) + len(question.rubric.system) + 4000
