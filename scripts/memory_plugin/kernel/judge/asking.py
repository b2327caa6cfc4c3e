"""Ask a judge: check that it may be asked, look in the cache, reserve the cost, call in parallel, settle, append to the ledger.

    judge = judge_for("retrieval", context)
    verdict = judge.ask(question, context.deadline)
    verdict.values or verdict.failure

The network is imported only when a question is really sent.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from ..clock import iso, now
from ..ledger import open_ledger
from .budget import Caps, Settlement, SpendingBudget, VerdictCache
from .credentials import UserEnvironment, address_source, resolve_access
from .errors import JudgeError
from .host import HOST, require_listener
from .models import Billing, RequestOptions, family_of
from .question import Verdict, read_reply
from .vendors import endpoint_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from ssl import SSLContext

    from ..clock import Deadline
    from ..context import Context
    from ..settings.values import Settings
    from .credentials import AddressSource, ServerAccess
    from .errors import CallOutcome
    from .question import Question, Values

FOLDER = "judge"  # in the state folder
_OFF_NOTICE = "the judge is off for this session: its provider refused the key (%s); see: memory judge check"


def judge_for(
    feature: str, context: Context, *, model: str = "", off: str = "", helper: bool = True, request: str = ""
) -> Judge:
    """Return the judge of a feature in this session; `model` defaults to the one in the feature's settings.

    `off`, `helper` and `request` are as for `Judge`.
    """
    model = model or context.settings.text(feature + ".judge.model")
    return Judge(feature, model, context, off=off, helper=helper, request=request)


class Judge:
    """One feature's judge in one session.

    `off` is a reason not to ask at all. `helper` allows running the user's `apiKeyHelper`, never while a prompt waits. `request` names work
    whose price the user agreed to: it has its own account and cap, `judge.caps.request_usd`. `notice` is a line for the user, set once
    after a refused key has switched the judge off for this session.
    """

    def __init__(
        self,
        feature: str,
        model: str,
        context: Context,
        *,
        off: str = "",
        helper: bool = False,
        request: str = "",
    ) -> None:
        settings = context.settings
        self.feature = feature
        self.model = model
        self.backend = settings.text("judge.backend")
        self.notice = ""
        self._paths = context.paths
        self._settings = settings
        self._session = context.session
        self._off = off
        self._helper = helper
        self._account = request or context.session
        self._caps = _caps(settings, is_request=bool(request))
        self._access: ServerAccess | None = None
        self._billing = Billing(model, self.backend, settings.block("judge.prices"))

    def unready(self, *, anyway: bool = False) -> Verdict | None:
        """Return why the judge cannot be asked (disabled, no_key, bad_url, no_state), or None; nothing is sent.

        With `anyway`, a judge that the user has not switched on counts as switched on.
        """
        try:
            self._prepare(anyway)
        except JudgeError as failed:
            return Verdict(None, failed.name, failed.detail)
        return None

    def needs_no_key(self) -> bool:
        """Return whether its server is on this machine and needs no key."""
        return self.unready(anyway=True) is None and self._access is not None and not self._access.headers

    def address_source(self) -> AddressSource | None:
        """Return the address of the server and what names it; None for a backend without a server of ours."""
        endpoint = endpoint_of(self.backend)
        if endpoint is None:
            return None
        variables = UserEnvironment(self._paths.config_dir)
        return address_source(
            "judge.base_url", [endpoint.base_variable], endpoint.base, self._settings, variables
        )

    def warnings(self) -> list[str]:
        """Return a sentence about each of the user's variables that is ignored because it is invalid, without its value."""
        if self._access is None:
            return []
        from .transport import certificate_problems

        return [*self._access.notes, *certificate_problems(self._access)]

    def ask(
        self, question: Question, deadline: Deadline, *, retry: bool = False, fresh: bool = False
    ) -> Verdict:
        """Return the verdict on one question, as `ask_all` does."""
        return self.ask_all([question], deadline, retry=retry, fresh=fresh)[0]

    def ask_all(
        self, questions: Sequence[Question], deadline: Deadline, *, retry: bool = False, fresh: bool = False
    ) -> list[Verdict]:
        """Ask all questions in parallel and return one verdict each, at the deadline at the latest.

        `retry` allows one more try after 429 and 5xx, never while a prompt waits. `fresh` ignores the cache.
        """
        problem = self.unready()
        if problem is not None:
            return [problem for _ in questions]
        keys = [question.key(self.backend, self.model) for question in questions]
        cache = VerdictCache(self._folder)
        earlier = {} if fresh else cache.read()
        verdicts = {key: _cached_verdict(earlier[key]) for key in keys if key in earlier}
        missing = {key: question for key, question in zip(keys, questions) if key not in verdicts}
        if missing:
            answers = dict(zip(missing, self._ask_missing(list(missing.values()), deadline, retry)))
            _cache_answers(cache, answers)
            verdicts.update(answers)
        results = [verdicts[key] for key in keys]
        for question, verdict in zip(questions, results):
            self.record(question, verdict)
        return results

    def highest_price(self, questions: Sequence[Question]) -> float:
        """Return the highest possible cost of some questions in US dollars, which would be reserved."""
        family = family_of(self.model, self.backend, iso(now())[:10])
        options = RequestOptions(family, frozenset())
        return sum(self._billing.highest(question, options.max_tokens(question)) for question in questions)

    @property
    def _folder(self) -> str:
        return self._paths.state(FOLDER)

    def _prepare(self, anyway: bool) -> None:
        """Resolve the access to the server, once. Raises JudgeError."""
        if self._off:
            raise JudgeError("disabled", self._off)
        if not anyway and not self._settings.is_judge_enabled(self.feature):
            raise JudgeError(
                "disabled", "not switched on in your own settings; see: memory judge on " + self.feature
            )
        if self._paths.state_dir is None:
            raise JudgeError("no_state", "spending cannot be recorded: %s" % self._paths.why_no_state)
        endpoint = endpoint_of(self.backend)
        if self.backend == HOST:
            require_listener(os.path.join(self._folder, HOST), self._session)
        if endpoint is not None and self._access is None:
            variables = UserEnvironment(self._paths.config_dir)
            self._access = resolve_access(endpoint, self._settings, variables, self._helper)

    @property
    def server(self) -> str:
        """Return the id under which failures and rejected options are remembered: a model at an address."""
        if self._access is None:
            return "%s %s" % (self.backend, self.model)
        address = self._access.address
        return "%s %s %d %s %s" % (address.scheme, address.host, address.port, address.path, self.model)

    def _ask_missing(self, questions: Sequence[Question], deadline: Deadline, retry: bool) -> list[Verdict]:
        """Return one verdict per question.

        Options that the server rejects by name are omitted from a second request, within the same deadline and caps. If that request
        succeeds or fails in another way, they are remembered.
        """
        accounts = SpendingBudget(self._folder, deadline)
        try:
            tls, refused = self._tls(), accounts.refused(self.server)
        except JudgeError as failed:
            return [Verdict(None, failed.name, failed.detail) for _ in questions]
        family = family_of(self.model, self.backend, iso(now())[:10])
        shared = _Round(accounts, tls, RequestOptions(family, refused), retry)
        verdicts, rejected = self._round(questions, deadline, shared)
        new_parts = frozenset().union(*rejected)
        if not new_parts:
            return verdicts
        retried = [at for at, parts in enumerate(rejected) if parts]
        shared = shared._replace(options=RequestOptions(family, refused | new_parts))
        second, rejected_again = self._round([questions[at] for at in retried], deadline, shared)
        for at, verdict in zip(retried, second):
            verdict.ms += verdicts[at].ms
            verdicts[at] = verdict
        if any(verdict.tokens_out is not None for verdict in second) or any(rejected_again):
            self._note_refused(accounts, new_parts)
        return verdicts

    def _round(
        self, questions: Sequence[Question], deadline: Deadline, shared: _Round
    ) -> tuple[list[Verdict], list[frozenset[str]]]:
        """Reserve the cost, call in parallel, settle; return the verdicts, and for each request the parts that were rejected by name."""
        needs = [
            self._billing.highest(question, shared.options.max_tokens(question)) for question in questions
        ]
        try:
            shared.accounts.admit(self._account, self.server, needs, self._caps)
        except JudgeError as failed:
            refusals = [Verdict(None, failed.name, failed.detail) for _ in questions]
            return refusals, [frozenset() for _ in questions]
        outcomes = self._call(questions, deadline, shared)
        verdicts = [self._verdict(question, outcome) for question, outcome in zip(questions, outcomes)]
        settlements = [
            Settlement(need, self._billing.spent(need, outcome), verdict.failure, outcome.wait)
            for need, outcome, verdict in zip(needs, outcomes, verdicts)
        ]
        self._settle(shared.accounts, settlements)
        return verdicts, [outcome.parts for outcome in outcomes]

    def _call(self, questions: Sequence[Question], deadline: Deadline, shared: _Round) -> list[CallOutcome]:
        from .calls import JudgeCall, make_calls

        calls = [
            JudgeCall(
                question,
                self.backend,
                self.model,
                self._access,
                self._folder,
                self._session,
                shared.tls,
                shared.options,
                shared.retry,
            )
            for question in questions
        ]
        return make_calls(calls, deadline)

    def _tls(self) -> SSLContext | None:
        if self._access is None:
            return None
        from .transport import tls_context

        return tls_context(self._access)

    def _settle(self, accounts: SpendingBudget, settlements: Sequence[Settlement]) -> None:
        try:
            refusal = accounts.settle(
                self._account, self.server, settlements, is_request=self._caps.day is None
            )
        except JudgeError:
            return  # the reservation counts as spent
        if refusal:
            self.notice = _OFF_NOTICE % refusal

    def _note_refused(self, accounts: SpendingBudget, parts: frozenset[str]) -> None:
        try:
            accounts.note_refused(self.server, parts)
        except JudgeError:
            return  # the server rejects them once more next time

    def _verdict(self, question: Question, outcome: CallOutcome) -> Verdict:
        if outcome.text is None:
            verdict = Verdict(None, outcome.failure, outcome.detail)
        else:
            values = read_reply(outcome.text, question.read)
            verdict = Verdict(values, "" if values is not None else "parse_error", outcome.detail)
        if verdict.failure == "tls":
            verdict.detail = " ".join(filter(None, [outcome.detail + ".", *self.warnings()]))
        verdict.ms = outcome.ms
        verdict.tokens_in, verdict.tokens_out = outcome.tokens_in, outcome.tokens_out
        verdict.cost = self._billing.cost(outcome)
        return verdict

    def record(self, question: Question, verdict: Verdict) -> None:
        """Append one line to `judge-calls.jsonl`."""
        row: dict[str, object] = {
            "feature": self.feature,
            "question": question.rubric.id,
            "rubric": question.rubric.digest,
            "backend": self.backend,
            "model": self.model,
            "outcome": verdict.failure or "ok",
            "cached": verdict.cached,
            "latency_ms": verdict.ms,
            "tokens_in": verdict.tokens_in,
            "tokens_out": verdict.tokens_out,
            "cost_usd": None if verdict.cost is None else round(verdict.cost, 8),
        }
        ledger = open_ledger(self._paths, self._settings, "judge-calls")
        ledger.append(self._session, self._paths.project_key, row)


def _caps(settings: Settings, *, is_request: bool) -> Caps:
    if is_request:
        return Caps(settings.number("judge.caps.request_usd"), None)
    return Caps(settings.number("judge.caps.session_usd"), settings.number("judge.caps.day_usd"))


class _Round(NamedTuple):
    """The values that all calls of one round share."""

    accounts: SpendingBudget
    tls: SSLContext | None
    options: RequestOptions
    retry: bool


def _cached_verdict(values: Values) -> Verdict:
    verdict = Verdict(values)
    verdict.cached, verdict.cost = True, 0.0
    return verdict


def _cache_answers(cache: VerdictCache, verdicts: dict[str, Verdict]) -> None:
    fresh = {key: verdict.values for key, verdict in verdicts.items() if verdict.values is not None}
    # Without a cache the same question costs again, within the caps.
    with suppress(OSError):
        if fresh:
            cache.add(fresh)
