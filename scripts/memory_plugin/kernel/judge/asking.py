"""The judge: the one interface through which features ask a model, with a named reason whenever there is no answer.

It checks that it may be asked, looks in the cache, reserves the cost, calls in parallel, settles, and appends to the ledger.

    judge = Judge("retrieval", context)
    verdict = judge.ask(question, context.deadline)
    verdict.values or verdict.failure

The network is imported only when a question is really sent.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from ..context import Context, Deadline, Ledger, iso, now
from ..fastjson import digest
from ..records import Form, count, number_or_null, text
from .budget import REFUSED, VERDICTS, Caps, Remembered, SpendingBudget
from .calls import Target, listener_key, make_calls
from .credentials import AddressSource, ServerAccess, UserEnvironment, resolve_access, server_source
from .models import Family, family_of, price_of
from .question import JudgeError, Question, Values, Verdict, read_reply
from .vendors import HOST, VENDORS

CALLS = Form(
    "judge-calls",
    {
        **dict.fromkeys(("feature", "outcome"), text),
        **dict.fromkeys(("tokens_in", "tokens_out"), count),
        **dict.fromkeys(("cost_usd", "latency_ms"), number_or_null),
    },
)
Questions = Sequence[Question]
FOLDER = "judge"  # in the state folder
_OFF_NOTICE = "the judge is off for this session: its provider refused the key (%s); see: memory judge check"


class Judge:
    """One feature's judge in one session; `model` defaults to the one in the feature's settings.

    `off` is a reason not to ask at all. While a prompt `waits`, the user's `apiKeyHelper` is not run, and nothing is tried again. `request`
    names work whose price the user agreed to: it has its own account and cap, `judge.caps.request_usd`. `notice` is a line for the user,
    set once after a refused key has switched the judge off for this session.
    """

    def __init__(
        self,
        feature: str,
        context: Context,
        *,
        model: str = "",
        off: str = "",
        waits: bool = False,
        request: str = "",
    ) -> None:
        settings = self._settings = context.settings
        self.feature = feature
        self.model = model or settings.text(feature + ".judge.model")
        self.backend = settings.text("judge.backend")
        self.notice = ""
        self._paths, self._session = context.paths, context.session
        self._off, self._waits = off, waits
        self._account = request or context.session
        self._caps = Caps(
            settings.number("judge.caps.request_usd" if request else "judge.caps.session_usd"),
            None if request else settings.number("judge.caps.day_usd"),
        )
        self._access: ServerAccess | None = None
        self._vendor = VENDORS.get(self.backend)
        self._price = price_of(self.model, self.backend, settings.block("judge.prices"))
        self._family = family_of(self.model, self.backend, iso(now())[:10])

    def unready(self, *, anyway: bool = False) -> Verdict | None:
        """Return why the judge cannot be asked (disabled, no_key, bad_url, no_host, no_state), or None; nothing is sent.

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
        variables = UserEnvironment(self._paths.config_dir)
        return self._vendor and server_source(self._vendor, self._settings, variables)

    def ask(self, question: Question, deadline: Deadline, *, fresh: bool = False) -> Verdict:
        """Return the verdict on one question, as `ask_all` does."""
        return self.ask_all([question], deadline, fresh=fresh)[0]

    def cached(self, question: Question) -> Values | None:
        """Return the values of an earlier verdict; None if there is none. Nothing is sent."""
        key = question.key(self.backend, self.model)
        return Remembered(self._paths.state(FOLDER), VERDICTS).find([key]).get(key)

    def ask_all(self, questions: Questions, deadline: Deadline, *, fresh: bool = False) -> list[Verdict]:
        """Ask all questions in parallel and return one verdict each, at the deadline at the latest.

        Unless a prompt waits, each has one more try after 429 and 5xx. `fresh` ignores the cache.
        """
        problem = self.unready()
        if problem is not None:
            return [problem for _ in questions]
        keys = [question.key(self.backend, self.model) for question in questions]
        cache = Remembered(self._paths.state(FOLDER), VERDICTS)
        earlier = {} if fresh else cache.find(keys)
        verdicts = {key: Verdict(values) for key, values in earlier.items()}
        for verdict in verdicts.values():
            verdict.cached, verdict.cost = True, 0.0
        missing = {key: question for key, question in zip(keys, questions) if key not in verdicts}
        if missing:
            answers = dict(zip(missing, self._ask_missing(list(missing.values()), deadline)))
            with suppress(OSError):  # without a cache the same question costs again, within the caps
                cache.add({key: found.values for key, found in answers.items() if found.values is not None})
            verdicts.update(answers)
        results = [verdicts[key] for key in keys]
        for question, verdict in zip(questions, results):
            self._record(question, verdict)
        return results

    def highest_price(self, questions: Questions) -> float:
        """Return the highest possible cost of some questions in US dollars, which would be reserved."""
        return sum(self._needs(questions, self._family))

    @property
    def server(self) -> str:
        """Return the id under which failures and rejected options are remembered: a digest of a model at an address."""
        place = (self.backend,) if self._access is None else self._access.address
        return digest(" ".join(map(str, (*place, self.model))).encode("utf-8", "replace"), 8)

    def _prepare(self, anyway: bool) -> None:
        """Resolve the access to the server, once. Raises JudgeError."""
        if self._off:
            raise JudgeError("disabled", self._off)
        if not anyway and not self._settings.is_judge_enabled(self.feature):
            from ..settings import feature_name  # the prompt path does without it

            name = feature_name(self.feature)
            raise JudgeError("disabled", "its judge is off; to turn it on: memory judge on " + name)
        if self._paths.state_dir is None:
            raise JudgeError("no_state", "spending cannot be recorded: %s" % self._paths.why_no_state)
        if self.backend == HOST:
            listener_key(self._paths.state(FOLDER), self._session)
        if self._vendor is not None and self._access is None:
            variables = UserEnvironment(self._paths.config_dir)
            self._access = resolve_access(self._vendor, self._settings, variables, not self._waits)

    def _needs(self, questions: Questions, family: Family) -> list[float]:
        return [self._price.highest(question, family.max_tokens(question)) for question in questions]

    def _ask_missing(self, questions: Questions, deadline: Deadline) -> list[Verdict]:
        """Return one verdict per question.

        Options that the server rejects by name are omitted from a second request, within the same deadline and caps. If that request
        succeeds or fails in another way, they are remembered.
        """
        folder = self._paths.state(FOLDER)
        rejected = Remembered(folder, REFUSED)
        parts = frozenset(rejected.find([self.server]).get(self.server, ()))
        family, retry = self._family.without(parts), not self._waits
        target = Target(self.backend, self.model, self._access, family, retry, folder, self._session)
        verdicts = self._round(questions, deadline, target)
        retried = [at for at, verdict in enumerate(verdicts) if verdict.rejected]
        if not retried:
            return verdicts
        parts = parts.union(*(verdicts[at].rejected for at in retried))
        target = target._replace(family=self._family.without(parts))
        second = self._round([questions[at] for at in retried], deadline, target)
        for at, verdict in zip(retried, second):
            verdict.ms += verdicts[at].ms
            verdicts[at] = verdict
        if any(verdict.tokens_out is not None or verdict.rejected for verdict in second):
            with suppress(OSError):  # the server rejects them once more next time
                rejected.add({self.server: dict.fromkeys(parts, True)})
        return verdicts

    def _round(self, questions: Questions, deadline: Deadline, target: Target) -> list[Verdict]:
        """Reserve the cost, call in parallel, read the answers, settle."""
        accounts, needs = SpendingBudget(target.folder, deadline), self._needs(questions, target.family)
        try:
            accounts.admit(self._account, self.server, needs, self._caps)
        except JudgeError as failed:
            return [Verdict(None, failed.name, failed.detail) for _ in questions]
        verdicts = make_calls(questions, target, deadline)
        for question, verdict in zip(questions, verdicts):
            if not verdict.failure:
                verdict.values = read_reply(verdict.text, question.read)
                verdict.failure = "parse_error" if verdict.values is None else ""
        ends = [(self._price.spent(need, verdict) - need, verdict) for need, verdict in zip(needs, verdicts)]
        with suppress(JudgeError):  # then the reservation counts as spent
            refusal = accounts.settle(self._account, self.server, ends, self._caps)
            self.notice = _OFF_NOTICE % refusal if refusal else self.notice
        return verdicts

    def _record(self, question: Question, verdict: Verdict) -> None:
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
        ledger = Ledger(self._paths.state(), CALLS.name)
        ledger.append(self._session, self._paths.project_key, row)
