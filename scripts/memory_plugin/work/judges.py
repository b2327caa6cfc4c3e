"""Describe each feature's judge: what it is sent, its address, its price; switch it on and off."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Any, NamedTuple

from ..evaluation.jury import judge_at
from ..kernel.context import days_ago
from ..kernel.files import make_folder
from ..kernel.judge.asking import FOLDER, Judge
from ..kernel.judge.credentials import AddressSource
from ..kernel.judge.models import family_of, model_table, price_of
from ..kernel.judge.question import (
    Question,
    Verdict,
    chosen_indices,
    explain_failure,
    load_rubric,
    setup_options,
)
from ..kernel.judge.vendors import HOST, VENDORS
from ..kernel.paths import Paths, load_data
from ..kernel.records import Records
from ..kernel.settings import Settings, judge_switches
from ..kernel.settings.load import load
from ..kernel.settings.user_file import FileChange, change_values
from ..kernel.text.clean import terminal_safe
from ..recall.recall_rows import RECALLS
from ..sessions import grade
from . import WorkContext

FEATURES = tuple(judge_switches())

_UNKNOWN = (
    "unknown for %s; the caps assume $%g and $%g per million tokens in and out until you set its price:"
    " memory config set judge.prices '{\"%s\": [IN, OUT]}'"
)
_THROUGH_CLIENT = (
    "Questions go through Claude Code (2.1.287 or later) with your own login. No key is needed; the calls count against your plan,"
    " at most %d in a session and %d a day."
)
KEPT_NOTHING = 20  # decisions in a row without an approval: a judge that always says no is useless

_COMMON = ("HTTPS_PROXY", "https_proxy", "NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE", "SSL_CERT_DIR")
_CONFIRM = "inside Claude Code a project can set it. To use it there as well, put it into the env block of your own settings.json"


def judged_feature(name: str) -> dict[str, Any]:
    """Return the entry of `config/judges/features.json` for one of FEATURES: what is sent, in how many calls, and more."""
    return dict(load_data("judges", "features")["features"][name])


def judges_of(context: WorkContext, feature: str) -> list[Judge]:
    """Return the judges of a feature: one, or every juror. Raises EvaluationError for an unknown backend."""
    off = terminal_safe(context.taint.why_off)
    settings = context.settings
    if feature == "evaluation":
        return [judge_at(context.within(0), name, off) for name in settings.texts("evaluation.judge.judges")]
    return [Judge(feature, context, off=off)]


def where(context: WorkContext, judges: list[Judge]) -> list[str]:
    """Return sentences that tell each judge's server address, the setting it comes from, and which variables are ignored."""
    lines: list[str] = []
    for judge in judges:
        route, vendor = judge.address_source(), VENDORS.get(judge.backend)
        if route is not None and vendor is not None:
            lines += address_sentences(context, route, (vendor.base_variable, vendor.headers_variable))
    return list(dict.fromkeys(lines))


def advice(failure: str, feature: str) -> list[str]:
    """Return what a failure means and what to do; without a key, what works anyway and the ways to set up a judge."""
    if failure != "no_key":
        return list(explain_failure(failure, feature))
    ways = ["- " + way for way in setup_options(feature)]
    return [judged_feature(feature)["without"], "To set one up, choose one:", *ways]


def costs(judges: list[Judge], feature: str, settings: Settings) -> str:
    """Return a sentence with the typical price and the spending caps."""
    shape = judged_feature(feature)
    single = feature == "retrieval" and not settings.flag("retrieval.judge.dual_verification")
    calls = 1 if single else shape["calls"]
    prices = "; ".join(dict.fromkeys(_price(judge, calls, shape["tokens"], settings) for judge in judges))
    caps = settings.number("judge.caps.session_usd"), settings.number("judge.caps.day_usd")
    text = "Cost of %s: %s. Caps for all judges together: $%.2f a session, $%.2f a day."
    return text % (shape["about"], prices, *caps)


def host_sentence(settings: Settings) -> str:
    """Return a sentence about questions that go through Claude Code, with the highest number of calls that the caps allow."""
    least = model_table()["host"]["least"]
    calls = [int(settings.number("judge.caps." + cap) / least) for cap in ("session_usd", "day_usd")]
    return _THROUGH_CLIENT % tuple(calls)


def dollars(amount: float) -> str:
    """Return a dollar amount with four decimals, or six if four would show zero."""
    return "$%.4f" % amount if amount >= 0.0001 or not amount else "$%.6f" % amount


def _price(judge: Judge, calls: int, tokens: list[int], settings: Settings) -> str:
    price = price_of(judge.model, judge.backend, settings.block("judge.prices"))
    if price.known:
        models = judge.model if calls == 1 else "%d calls to %s" % (calls, judge.model)
        more = family_of(judge.model, judge.backend).more_tokens
        cost = price.dollars(*(round(count * more) for count in tokens)) * calls
        about = "about " + dollars(cost) if cost else "nothing"
        return "%s (%s, prices of %s)" % (about, models, price.as_of)
    return _UNKNOWN % (judge.model, price.tiers[-1]["in"], price.tiers[-1]["out"], judge.model)


def kept_nothing(paths: Paths, days: int) -> int:
    """Return how many of the last days' latest judged decisions in a row kept no memory."""
    number = 0
    for row in Records(paths.state(), RECALLS, days_ago(days)):
        pairs = [pair for pair in (row.get("judge") or {}).get("verdicts", {}).values() if None not in pair]
        if pairs:
            number = 0 if any(True in pair for pair in pairs) else number + 1
    return number


def address_sentences(context: WorkContext, route: AddressSource, names: tuple[str, ...]) -> list[str]:
    """Return the address of a request with its source, then a sentence for each ignored variable, of `names` and the usual ones."""
    return ["Address: %s." % terminal_safe(str(route)), *ignored_sentences(context, (*names, *_COMMON))]


def ignored_sentences(context: WorkContext, names: tuple[str, ...]) -> list[str]:
    """Return a sentence for each of the named variables that is set but ignored."""
    lines = []
    for name in names:
        path = context.taint.names.get(name)
        if path is not None:
            lines.append("%s is ignored: %s sets it." % (name, terminal_safe(path)))
        elif name in context.caller.ignored:
            lines.append("%s is ignored: only the environment sets it, and %s." % (name, _CONFIRM))
    return lines


def session_scorer(context: WorkContext) -> grade.SessionScorer:
    """Return the scorer for this run."""
    return grade.SessionScorer(context.paths, context.settings, terminal_safe(context.taint.why_off))


_BACKEND, _JURORS = "judge.backend", "evaluation.judge.judges"


def check_question() -> Question:
    """Return the small test question of `memory judge check`."""
    numbers = {"numbers": [1, 2, 3, 4]}
    return Question(load_rubric("check"), numbers, lambda value: chosen_indices(value, "even", 5))


class Offer(NamedTuple):
    """What switching a judge on means, and the settings with which it would ask.

    `values` are the other settings that are written with its switch. `said` is what is sent and what it costs, addresses and keys, a
    sentence each; `brief` is the part of it that fits into a dialog. `failure` says why nobody could be asked yet; empty if a judge can.
    """

    settings: Settings
    values: dict[str, object]
    said: list[str]
    brief: str
    failure: str


def offer_judge(feature: str, context: WorkContext, *, through_host: bool) -> Offer:
    """Return what switching a judge on means. Raises EvaluationError for an unknown juror."""
    values = _host_values(feature, context.settings) if through_host else {}
    context = copy(context)
    context.settings = context.settings.with_values(values)
    judges = judges_of(context, feature)
    sent, price = judged_feature(feature)["sent"], costs(judges, feature, context.settings)
    if judges[0].backend == HOST:
        price += " " + host_sentence(context.settings)
    problems = [None if judge.backend == HOST else judge.unready(anyway=True) for judge in judges]
    said = [sent, price, *where(context, judges)]
    for judge, problem in zip(judges, problems):
        if judge.backend != HOST:
            of = " for %s" % judge.backend if len(judges) > 1 else ""
            found = "not needed, the model runs on this machine" if judge.needs_no_key() else "found"
            said.append("Key%s: %s." % (of, problem.detail if problem else found))
    failure = problems[0].failure if problems[0] and all(problems) else ""
    said += advice(failure, feature) if failure else []
    return Offer(context.settings, values, said, "%s %s." % (price, sent.partition(". ")[0]), failure)


def _host_values(feature: str, settings: Settings) -> dict[str, object]:
    """Return the settings with which a feature asks through Claude Code; jurors of other vendors become further ones of its models."""
    values: dict[str, object] = {_BACKEND: HOST}
    if feature == "evaluation":
        names = [name.partition(":") for name in settings.texts(_JURORS)]
        models = [model for backend, _, model in names if backend in ("anthropic", HOST)]
        models = models or [settings.text("retrieval.judge.model")]
        values[_JURORS] = ["%s:%s" % (HOST, models[at % len(models)]) for at in range(len(names))]
    return values


def turn_on(feature: str, offer: Offer, context: WorkContext) -> tuple[FileChange, bool]:
    """Switch a judge on in the user's settings, and return whether it is on in this project. A finer choice of its switch stays.

    Raises EditError.
    """
    if offer.values:
        make_folder(context.paths.state(FOLDER, HOST))  # the client listens only where it is
    key, on, _ = judge_switches()[feature]
    current = context.settings.get(key)
    values = {**offer.values, key: current if current in on else on[0]}
    change = change_values(context.paths.config_dir, values)
    now = load(context.paths.config_dir, context.paths.project_root)
    return change, now.is_judge_enabled(feature) and not context.taint.judges_off


def turn_off(features: Sequence[str], context: WorkContext) -> FileChange:
    """Switch judges off in the user's settings; a switch that is lower already stays. Raises EditError."""
    values = {}
    for key, on, off in map(judge_switches().__getitem__, features):
        current = context.settings.get(key)
        values[key] = off if current in on else current
    return change_values(context.paths.config_dir, values)


def check_record(judge: Judge, verdict: Verdict, feature: str, context: WorkContext) -> dict[str, object]:
    """Return the answer to the test question as a record."""
    return {
        "ok": not verdict.failure,
        "failure": verdict.failure,
        "detail": verdict.detail,
        "advice": advice(verdict.failure, feature) if verdict.failure else [],
        "backend": judge.backend,
        "model": judge.model,
        "ms": verdict.ms,
        "cost_usd": verdict.cost,
        "address": where(context, [judge]),
    }
