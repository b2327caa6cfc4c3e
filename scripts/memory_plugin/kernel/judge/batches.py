"""Many questions at once through the provider's Message Batches API: half the price, an answer within a day.

POST /v1/messages/batches               {"requests": [{"custom_id", "params"}]}
GET  /v1/messages/batches?limit=100     {"data": [{"id", "created_at", "request_counts"}]}, newest first
GET  /v1/messages/batches/{id}          processing_status: in_progress, canceling, ended
GET  /v1/messages/batches/{id}/results  one JSON object a line, in any order
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote

from ..clock import iso, now
from ..native import dumps, loads
from .backends.anthropic import FORM
from .billing import Billing
from .certificates import tls_context
from .models import family_of
from .outcome import Failed, Outcome
from .terms import Terms, named_parts
from .transport import Request, fetch
from .wire import field

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..clock import Deadline
    from ..settings.load import Settings
    from .access import Access
    from .question import Question

__all__ = ["HALF", "MOST_BYTES", "Answer", "Batches", "Listed", "request_size"]

HALF = 0.5  # of the price of single calls (the provider's price list)
MOST_BYTES = 30 << 20  # of one batch; the provider takes 256 MB, a slow line does not
_MOST_RESULTS = 128 << 20
_MOST_LISTED = 100  # what one page of the provider's list holds at most
_PATH = "/v1/messages/batches"
_OK = 200
_FAILURES = {429: "rate_limited", 503: "overloaded", 529: "overloaded"}
# The provider's names for what went wrong with one item; any other name is not repeated.
_ERRORS = frozenset(
    ["invalid_request_error", "authentication_error", "billing_error", "permission_error", "not_found_error",
     "request_too_large", "rate_limit_error", "timeout_error", "api_error", "overloaded_error"]
)  # fmt: skip


class Answer(NamedTuple):
    """One result: the text or the name of the failure, the tokens and what it cost, None where unknown.

    `detail` says more of a failure, in words of ours; `parts` are those of the request that the provider refused by name.
    """

    text: str | None
    failure: str
    tokens_in: int | None
    tokens_out: int | None
    cost: float | None
    detail: str = ""
    parts: frozenset[str] = frozenset()


class Listed(NamedTuple):
    """A batch in the provider's list: when it was made (ISO 8601), of how many requests, and whether it is worked through."""

    id: str
    created: str
    requests: int
    ended: bool


class Batches:
    """The batches of one model at one provider, asked on some terms; each method raises Failed.

    `sent` says whether the last request began to leave: the provider may have it, whatever came back.
    """

    def __init__(
        self, access: Access, model: str, settings: Settings, refused: frozenset[str] = frozenset()
    ) -> None:
        self.sent = False
        self._access = access
        self._model = model
        self._terms = Terms(family_of(model, "anthropic", iso(now())[:10]), refused)
        self._billing = Billing(model, "anthropic", settings.block("judge.prices"))

    def highest(self, question: Question) -> float:
        """Return the most that a question can cost in a batch, in US dollars."""
        return self._billing.highest(question, self._terms.most_tokens(question)) * HALF

    def submit(self, questions: Mapping[str, Question], deadline: Deadline) -> str:
        """Submit questions, each under an id of its own; return the id of the new batch."""
        requests = [
            {"custom_id": name, "params": FORM.body(question, self._model, self._terms)}
            for name, question in questions.items()
        ]
        payload = self._json("POST", _PATH, deadline, dumps({"requests": requests}).encode("ascii"))
        identity = payload.get("id")
        if not isinstance(identity, str) or not identity:
            raise Failed("parse_error", "the provider named no batch")
        return identity

    def listed(self, deadline: Deadline) -> list[Listed]:
        """Return the provider's newest batches."""
        rows = self._json("GET", "%s?limit=%d" % (_PATH, _MOST_LISTED), deadline).get("data")
        found = []
        for row in rows if isinstance(rows, list) else ():
            counts = field(row, "request_counts")
            total = sum(n for n in counts.values() if isinstance(n, int)) if isinstance(counts, dict) else 0
            identity, created = field(row, "id"), field(row, "created_at")
            if isinstance(identity, str) and isinstance(created, str):
                found.append(Listed(identity, created, total, field(row, "processing_status") == "ended"))
        return found

    def ended(self, batch: str, deadline: Deadline) -> bool:
        """Return whether a batch is worked through."""
        payload = self._json("GET", "%s/%s" % (_PATH, quote(batch, safe="")), deadline)
        return payload.get("processing_status") == "ended"

    def results(self, batch: str, deadline: Deadline) -> dict[str, Answer]:
        """Return the answers of a batch by the ids of its questions; lines that are none are left out."""
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
            return self._failed(kind, field(result, "error"))
        try:
            text = FORM.read(message)
        except Failed as failed:
            return Answer(None, failed.name, None, None, None, failed.detail)
        outcome = Outcome()
        outcome.sent = True
        outcome.tokens_in, outcome.tokens_out = text.tokens_in, text.tokens_out
        cost = self._billing.cost(outcome)
        cost = None if cost is None else cost * HALF
        return Answer(
            None if text.failure else text.text, text.failure, text.tokens_in, text.tokens_out, cost
        )

    def _failed(self, kind: str, error: object) -> Answer:
        """Return why an item was not answered; what was not answered is not charged.

        The provider's own words are left out, as they may quote the request: its name of the error stays, and what it refused.
        """
        if kind != "errored":
            known = kind in ("expired", "canceled")
            return Answer(None, kind if known else "parse_error", None, None, 0.0)
        name = str(field(error, "error", "type") or field(error, "type"))
        parts = named_parts(dumps({"error": error}).encode("ascii"), FORM.names) & self._terms.sent()
        said = [name if name in _ERRORS else "error of an unknown kind"]
        if parts:
            said.append("it refuses: %s" % ", ".join(sorted(parts)))
        return Answer(None, "errored", None, None, 0.0, "; ".join(said), parts)

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
        tls = tls_context(self._access) if self._access.address.scheme == "https" else None
        outcome = Outcome()
        try:
            request = Request(method, path, FORM.headers, body, most)
            response = fetch(self._access, request, deadline, outcome, tls)
        finally:
            self.sent = outcome.sent
        if response.status != _OK:
            raise Failed(_FAILURES.get(response.status, "http_%d" % response.status))
        return response.body


def request_size(question: Question) -> int:
    """Return about how many bytes a question takes in a batch."""
    return len(question.message.encode("utf-8", "replace")) + len(question.rubric.system) + 4000
