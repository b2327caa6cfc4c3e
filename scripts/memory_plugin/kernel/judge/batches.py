"""Many questions at once through the provider's Message Batches API: half the price, an answer within a day.

POST /v1/messages/batches               {"requests": [{"custom_id", "params"}]}
GET  /v1/messages/batches/{id}          processing_status: in_progress, canceling, ended
GET  /v1/messages/batches/{id}/results  one JSON object a line, in any order
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote

from ..native import dumps, loads
from .backends.anthropic import FORM
from .billing import Billing, most_tokens
from .outcome import Failed, Outcome
from .transport import Request, fetch, tls_context
from .wire import field

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..clock import Deadline
    from ..settings.load import Settings
    from .access import Access
    from .question import Question

__all__ = ["HALF", "MOST_BYTES", "Answer", "Batches", "request_size"]

HALF = 0.5  # of the price of single calls (the provider's price list)
MOST_BYTES = 30 << 20  # of one batch; the provider takes 256 MB, a slow line does not
_MOST_RESULTS = 128 << 20
_PATH = "/v1/messages/batches"
_OK = 200
_FAILURES = {429: "rate_limited", 503: "overloaded", 529: "overloaded"}


class Answer(NamedTuple):
    """One result: the text or the name of the failure, the tokens and what it cost, None where unknown."""

    text: str | None
    failure: str
    tokens_in: int | None
    tokens_out: int | None
    cost: float | None


class Batches:
    """The batches of one model at one provider; each method raises Failed."""

    def __init__(self, access: Access, model: str, settings: Settings) -> None:
        self._access = access
        self._model = model
        self._billing = Billing(model, "anthropic", settings.block("judge.prices"))

    def submit(self, questions: Mapping[str, Question], deadline: Deadline) -> str:
        """The id of a new batch of questions, each under an id of its own."""
        requests = [
            {"custom_id": name, "params": self._params(question)} for name, question in questions.items()
        ]
        payload = self._json("POST", _PATH, deadline, dumps({"requests": requests}).encode("ascii"))
        identity = payload.get("id")
        if not isinstance(identity, str) or not identity:
            raise Failed("parse_error", "the provider named no batch")
        return identity

    def _params(self, question: Question) -> dict[str, Any]:
        return FORM.body(question, self._model, most_tokens(question, plain=False), False)

    def ended(self, batch: str, deadline: Deadline) -> bool:
        """Whether a batch is worked through."""
        payload = self._json("GET", "%s/%s" % (_PATH, quote(batch, safe="")), deadline)
        return payload.get("processing_status") == "ended"

    def results(self, batch: str, deadline: Deadline) -> dict[str, Answer]:
        """The answers of a batch by the ids of its questions; lines that are none are left out."""
        body = self._fetch(
            "GET", "%s/%s/results" % (_PATH, quote(batch, safe="")), deadline, None, _MOST_RESULTS
        )
        found = {}
        for line in body.split(b"\n"):
            try:
                row = loads(line.decode("utf-8"))
            except ValueError:
                continue
            name = field(row, "custom_id")
            if isinstance(name, str):
                found[name] = self._answer(field(row, "result"))
        return found

    def _answer(self, result: object) -> Answer:
        kind = str(field(result, "type"))
        message = field(result, "message")
        if kind != "succeeded" or not isinstance(message, dict):
            return Answer(
                None, kind if kind in ("errored", "expired", "canceled") else "parse_error", None, None, 0.0
            )
        try:
            text = FORM.read(message)
        except Failed as failed:
            return Answer(None, failed.name, None, None, None)
        outcome = Outcome()
        outcome.sent = True
        outcome.tokens_in, outcome.tokens_out = text.tokens_in, text.tokens_out
        cost = self._billing.cost(outcome)
        cost = None if cost is None else cost * HALF
        return Answer(
            None if text.failure else text.text, text.failure, text.tokens_in, text.tokens_out, cost
        )

    def _json(self, method: str, path: str, deadline: Deadline, body: bytes | None = None) -> dict[str, Any]:
        try:
            payload = loads(self._fetch(method, path, deadline, body).decode("utf-8"))
        except ValueError:
            raise Failed("parse_error", "the answer is no JSON") from None
        if not isinstance(payload, dict):
            raise Failed("parse_error", "the answer is no JSON object")
        return payload

    def _fetch(
        self, method: str, path: str, deadline: Deadline, body: bytes | None, most: int = 1 << 20
    ) -> bytes:
        tls = tls_context(self._access.authorities) if self._access.address.scheme == "https" else None
        response = fetch(
            self._access, Request(method, path, FORM.headers, body, most), deadline, Outcome(), tls
        )
        if response.status != _OK:
            raise Failed(_FAILURES.get(response.status, "http_%d" % response.status))
        return response.body


def request_size(question: Question) -> int:
    """The bytes that a question takes in a batch, about."""
    return len(question.message.encode("utf-8", "replace")) + len(question.rubric.system) + 4000
