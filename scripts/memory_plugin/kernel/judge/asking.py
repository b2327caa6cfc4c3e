"""Asking: may we, do we know already, reserve, ask side by side, settle, write down.

    judge = Judge("retrieval", settings.text("retrieval.judge.model"), places, settings, session)
    verdict = judge.ask(question, deadline)
    verdict.values or verdict.failure

The network is imported only here, and only when a question really goes out.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from ..clock import iso, now
from ..ledger import Ledger
from .backends import load_backend
from .budget import Budget, Caps, Settlement
from .credentials import UserEnvironment, resolve_access
from .failures import JudgeError
from .models import RequestOptions, family_of
from .prices import Billing
from .question import Verdict, read_reply
from .verdict_cache import VerdictCache

if TYPE_CHECKING:
    from collections.abc import Sequence
    from ssl import SSLContext

    from ..clock import Deadline
    from ..paths import Places
    from ..settings.load import Settings
    from .address import AddressSource
    from .calls import CallOutcome
    from .credentials import ServerAccess
    from .question import Question

__all__ = ["FOLDER", "Judge"]

FOLDER = "judge"  # in the state folder
_FORM_OF = {"scripted": "anthropic"}  # a script's replies have no form; its questions are counted like these
_OFF_NOTICE = "the judge is off for this session: its provider refused the key (%s); see: memory judge check"


class Judge:
    """One feature's judge in one session.

    `off` is a reason not to ask at all; `helper` allows the user's `apiKeyHelper`, never on the prompt's path.
    `notice` is a line for the user after an ask that switched the session off; it comes once.
    """

    def __init__(
        self,
        feature: str,
        model: str,
        places: Places,
        settings: Settings,
        session: str,
        *,
        off: str = "",
        helper: bool = False,
    ) -> None:
        self.feature = feature
        self.model = model
        self.backend = settings.text("judge.backend")
        self.notice = ""
        self._places = places
        self._settings = settings
        self._session = session
        self._off = off
        self._helper = helper
        self._access: ServerAccess | None = None
        self._billing = Billing(model, self.backend, settings.block("judge.prices"))

    def unready(self, *, anyway: bool = False) -> Verdict | None:
        """Return why nothing can be asked, found without asking: disabled, no_key, bad_url, no_state. None: it can.

        With `anyway` it does not count that the user has not switched the judge on.
        """
        try:
            self._prepare(anyway)
        except JudgeError as failed:
            return Verdict(None, failed.name, failed.detail)
        return None

    def needs_no_key(self) -> bool:
        """Return whether its server is one on this machine that is asked without a key."""
        return self.unready(anyway=True) is None and self._access is not None and not self._access.headers

    def route(self) -> AddressSource | None:
        """Return the address that is asked and who names it; None for the scripted backend, which asks none."""
        from .address import address_source  # for people, not for the prompt's path

        endpoint = load_backend(self.backend).ENDPOINT
        if endpoint is None:
            return None
        variables = UserEnvironment(self._places.config_dir)
        return address_source(
            "judge.base_url", [endpoint.base_variable], endpoint.base, self._settings, variables
        )

    def warnings(self) -> list[str]:
        """Return what is wrong with the user's variables but keeps nobody from asking, a sentence each, without values."""
        if self._access is None:
            return []
        from .certificates import certificate_problems

        return [*self._access.notes, *certificate_problems(self._access)]

    def access(self) -> ServerAccess:
        """Return the way to the server, for what is no single question. Raises JudgeError, as `unready` tells."""
        self._prepare(anyway=False)
        if self._access is None:
            raise JudgeError("no_script", "the scripted backend answers single questions only")
        return self._access

    def ask(
        self, question: Question, deadline: Deadline, *, again: bool = False, fresh: bool = False
    ) -> Verdict:
        """Return the verdict on one question; as `ask_all`."""
        return self.ask_all([question], deadline, again=again, fresh=fresh)[0]

    def ask_all(
        self, questions: Sequence[Question], deadline: Deadline, *, again: bool = False, fresh: bool = False
    ) -> list[Verdict]:
        """Return one verdict a question, all asked side by side; back when the deadline ends at the latest.

        `again` allows one more try after 429, 5xx and 529; never on the prompt's path.  `fresh` passes by what was
        answered before.
        """
        trouble = self.unready()
        if trouble is not None:
            return [trouble for _ in questions]
        keys = [question.key(self.backend, self.model) for question in questions]
        cache = VerdictCache(self._folder)
        verdicts = {} if fresh else _known(cache, keys)
        missing = {key: question for key, question in zip(keys, questions) if key not in verdicts}
        if missing:
            asked = dict(zip(missing, self._ask_missing(list(missing.values()), deadline, again)))
            _keep(cache, asked)
            verdicts.update(asked)
        found = [verdicts[key] for key in keys]
        for question, verdict in zip(questions, found):
            self.write_down(question, verdict)
        return found

    @property
    def _folder(self) -> str:
        return self._places.state(FOLDER)

    def _prepare(self, anyway: bool) -> None:
        """Find the way to the server. Raises JudgeError."""
        if self._off:
            raise JudgeError("disabled", self._off)
        if not anyway and not self._settings.judge_asked_for(self.feature):
            raise JudgeError(
                "disabled", "not switched on in your own settings; see: memory judge on " + self.feature
            )
        if self._places.state_dir is None:
            raise JudgeError("no_state", "spending cannot be written down: %s" % self._places.why_no_state)
        endpoint = load_backend(self.backend).ENDPOINT
        if endpoint is not None and self._access is None:
            variables = UserEnvironment(self._places.config_dir)
            self._access = resolve_access(endpoint, self._settings, variables, self._helper)

    @property
    def server(self) -> str:
        """Return what is left alone as a whole after a failure, and remembered for what it refuses: a model at an address."""
        if self._access is None:
            return "script"
        address = self._access.address
        return "%s %s %d %s %s" % (address.scheme, address.host, address.port, address.path, self.model)

    def _ask_missing(self, questions: Sequence[Question], deadline: Deadline, again: bool) -> list[Verdict]:
        """Return one verdict a question.

        What the server refuses by name in the request is left out of a second one, within the same deadline and the caps, once; and
        where that went better, it is remembered.
        """
        accounts = Budget(self._folder, deadline)
        try:
            tls, known = self._tls(), accounts.refused(self.server)
        except JudgeError as failed:
            return [Verdict(None, failed.name, failed.detail) for _ in questions]
        family = family_of(self.model, _FORM_OF.get(self.backend, self.backend), iso(now())[:10])
        batch = _Round(accounts, tls, RequestOptions(family, known), again)
        verdicts, refused = self._round(questions, deadline, batch)
        places = [at for at, parts in enumerate(refused) if parts]
        learned = frozenset().union(*refused)
        if not learned:
            return verdicts
        batch = batch._replace(terms=RequestOptions(family, known | learned))
        second, still = self._round([questions[at] for at in places], deadline, batch)
        for at, verdict in zip(places, second):
            verdict.ms += verdicts[at].ms
            verdicts[at] = verdict
        if any(verdict.tokens_out is not None for verdict in second) or any(still):
            self._note_refused(accounts, learned)
        return verdicts

    def _round(
        self, questions: Sequence[Question], deadline: Deadline, batch: _Round
    ) -> tuple[list[Verdict], list[frozenset[str]]]:
        """Reserve, call side by side, settle; return the verdicts, and what of each request was refused by name."""
        caps = Caps(*(self._settings.number("judge.caps.%s_usd" % span) for span in ("session", "day")))
        needs = [self._billing.highest(asked, batch.terms.most_tokens(asked)) for asked in questions]
        try:
            batch.accounts.admit(self._session, self.server, needs, caps)
        except JudgeError as failed:
            nothing = [Verdict(None, failed.name, failed.detail) for _ in questions]
            return nothing, [frozenset() for _ in questions]
        outcomes = self._call(questions, deadline, batch)
        verdicts = [self._verdict(question, outcome) for question, outcome in zip(questions, outcomes)]
        spent = [self._billing.spent(need, outcome) for need, outcome in zip(needs, outcomes)]
        failures = [verdict.failure for verdict in verdicts]
        waits = [outcome.wait for outcome in outcomes]
        self._settle(batch.accounts, [Settlement(*end) for end in zip(needs, spent, failures, waits)])
        return verdicts, [outcome.parts for outcome in outcomes]

    def _call(self, questions: Sequence[Question], deadline: Deadline, batch: _Round) -> list[CallOutcome]:
        from .calls import JudgeCall, make_calls

        script = os.path.join(self._folder, "script.json")
        calls = [
            JudgeCall(question, self.model, self._access, script, batch.tls, batch.terms, batch.again)
            for question in questions
        ]
        return make_calls(load_backend(self.backend), calls, deadline)

    def _tls(self) -> SSLContext | None:
        if self._access is None or self._access.address.scheme != "https":
            return None
        from .certificates import tls_context

        return tls_context(self._access)

    def _settle(self, accounts: Budget, ends: Sequence[Settlement]) -> None:
        try:
            refusal = accounts.settle(self._session, self.server, ends)
        except JudgeError:
            return  # what was reserved stays spent
        if refusal:
            self.notice = _OFF_NOTICE % refusal

    def _note_refused(self, accounts: Budget, parts: frozenset[str]) -> None:
        try:
            accounts.note_refused(self.server, parts)
        except JudgeError:
            return  # asked the long way once more

    def _verdict(self, question: Question, outcome: CallOutcome) -> Verdict:
        values = None if outcome.text is None else read_reply(outcome.text, question.read)
        failure = outcome.failure if outcome.text is None else "" if values is not None else "parse_error"
        verdict = Verdict(values, failure, outcome.detail)
        if failure == "tls":
            verdict.detail = " ".join(filter(None, [outcome.detail + ".", *self.warnings()]))
        verdict.ms = outcome.ms
        verdict.tokens_in, verdict.tokens_out = outcome.tokens_in, outcome.tokens_out
        verdict.cost = self._billing.cost(outcome)
        return verdict

    def write_down(self, question: Question, verdict: Verdict) -> None:
        """Return one line in `judge-calls.jsonl`."""
        settings = self._settings
        bounds = settings.integer("ledger.max_bytes"), settings.integer("ledger.keep_files")
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
        Ledger(self._places.state(), "judge-calls", *bounds).append(
            self._session, self._places.project_key, row
        )


class _Round(NamedTuple):
    """What the calls of one round have in common."""

    accounts: Budget
    tls: SSLContext | None
    terms: RequestOptions
    again: bool


def _known(cache: VerdictCache, keys: Sequence[str]) -> dict[str, Verdict]:
    """Return the verdicts that need not be asked for."""
    found = {}
    for key in keys:
        values = cache.get(key)
        if values is not None:
            found[key] = Verdict(values)
            found[key].cached, found[key].cost = True, 0.0
    return found


def _keep(cache: VerdictCache, asked: dict[str, Verdict]) -> None:
    fresh = {key: verdict.values for key, verdict in asked.items() if verdict.values is not None}
    try:
        if fresh:
            cache.put(fresh)
    except OSError:
        return  # a cache that cannot be written costs money later, within the caps
