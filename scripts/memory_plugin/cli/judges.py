"""Describe each feature's judge (what it is sent, its address, its price), and count its calls and votes in the ledgers."""

from __future__ import annotations

from collections import Counter
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

from ..evaluation.jury import judge_at
from ..kernel.data import load_data
from ..kernel.judge.asking import Judge, judge_for
from ..kernel.judge.models import family_of, price_of
from ..kernel.judge.vendors import endpoint_of
from ..kernel.records import Records
from ..kernel.settings.advice import terminal_safe
from .addresses import address_sentences
from .options import days_ago

if TYPE_CHECKING:
    from ..kernel.paths import Paths
    from ..kernel.settings.load import Settings
    from .command_context import CommandContext

FEATURES = ("retrieval", "scoring", "sessions", "interview", "evaluation")
_HEADERS = {"anthropic": ("ANTHROPIC_CUSTOM_HEADERS",)}  # sent along with each request
_UNKNOWN = (
    "unknown for %s; the caps assume $%g and $%g per million tokens in and out until you set its price:"
    " memory config set judge.prices '{\"%s\": [IN, OUT]}'"
)
_OF_THIS_MACHINE = (
    "%s runs on this machine; the caps assume $%g and $%g per million tokens in and out,"
    " until judge.prices is [0, 0] for it"
)
KEPT_NOTHING = 20  # decisions in a row without an approval: a judge that always says no is useless


class JudgedFeature(NamedTuple):
    """What a feature's judge is asked about, in how many calls, and roughly how many tokens in and out.

    For the user: what is `sent` to the judge, what works `without` it, and what `also` to know or switch on.
    """

    about: str
    calls: int
    tokens: list[int]
    sent: str
    without: str
    also: str


def judged_feature(name: str) -> JudgedFeature:
    """Return the entry of `config/judges/features.json` for one of FEATURES."""
    return JudgedFeature(**load_data("judges", "features")["features"][name])


def judges_of(context: CommandContext, feature: str) -> list[Judge]:
    """Return the judges of a feature: one, or every juror. Raises EvaluationError for an unknown backend."""
    off = terminal_safe(context.taint.why_off)
    settings = context.settings
    if feature == "evaluation":
        return [judge_at(context.within(0), name, off) for name in settings.texts("evaluation.judge.judges")]
    return [judge_for(feature, context, off=off)]


def where(context: CommandContext, judges: list[Judge]) -> list[str]:
    """Return sentences that tell each judge's server address, the setting it comes from, and which variables are ignored."""
    lines: list[str] = []
    for judge in judges:
        route, endpoint = judge.address_source(), endpoint_of(judge.backend)
        if route is not None and endpoint is not None:
            lines += address_sentences(
                context, route, (endpoint.base_variable, *_HEADERS.get(judge.backend, ()))
            )
    return list(dict.fromkeys(lines))


def costs(judges: list[Judge], feature: str, settings: Settings) -> str:
    """Return a sentence with the typical price and the spending caps."""
    shape = judged_feature(feature)
    single = feature == "retrieval" and not settings.flag("retrieval.judge.dual_verification")
    calls = 1 if single else shape.calls
    prices = [_price(judge, calls, shape, settings) for judge in judges]
    caps = settings.number("judge.caps.session_usd"), settings.number("judge.caps.day_usd")
    cost = "Cost: %s: %s." % (shape.about, "; ".join(prices))
    return cost + " Caps for all judges together: $%.2f a session, $%.2f a day." % caps


def dollars(amount: float) -> str:
    """Return a dollar amount with four decimals, or six if four would show zero."""
    return "$%.4f" % amount if amount >= 0.0001 or not amount else "$%.6f" % amount


def _price(judge: Judge, calls: int, shape: JudgedFeature, settings: Settings) -> str:
    price = price_of(judge.model, judge.backend, settings.block("judge.prices"))
    if price.known:
        models = judge.model if calls == 1 else "%d calls to %s" % (calls, judge.model)
        more = family_of(judge.model, judge.backend).more_tokens if judge.backend != "scripted" else 1.0
        cost = price.dollars(*(round(count * more) for count in shape.tokens)) * calls
        return "%s (%s, prices of %s)" % (
            "about " + dollars(cost) if cost else "nothing",
            models,
            price.as_of,
        )
    if judge.needs_no_key():
        return _OF_THIS_MACHINE % (judge.model, *price.tiers[-1][1:])
    return _UNKNOWN % (judge.model, *price.tiers[-1][1:], judge.model)


class Calls(NamedTuple):
    """Totals of the calls to models.

    `outcomes` counts calls by outcome, without cached verdicts. `cost_usd` is the sum of the known costs, `cost_unknown` the number
    of calls whose cost is unknown. `median_ms` is None if no call was answered.
    """

    outcomes: dict[str, int]
    cached: int
    tokens_in: int
    tokens_out: int
    cost_usd: float
    cost_unknown: int
    median_ms: float | None


class Opinions(NamedTuple):
    """Counts of the candidates on which both judges voted.

    `none_kept` is the number of latest judged decisions in a row that kept no memory.
    """

    both: int
    neither: int
    only_relevant: int
    only_useful: int
    paths: dict[str, int]
    none_kept: int

    @property
    def agreement(self) -> float | None:
        """Return the share of candidates on which both judges agreed, in [0, 1]; None without votes."""
        total = self.both + self.neither + self.only_relevant + self.only_useful
        return (self.both + self.neither) / total if total else None


def calls(paths: Paths, days: int) -> Calls:
    """Return the calls of the last days."""
    outcomes: Counter[str] = Counter()
    tokens: Counter[str] = Counter()
    cached = unknown = 0
    cost, waits = 0.0, []
    for row in Records(paths.state(), "judge-calls", days_ago(days)):
        if row.get("cached") is True:
            cached += 1
            continue
        outcome = row.get("outcome", "")
        outcomes[outcome] += 1
        for name in ("tokens_in", "tokens_out"):
            tokens[name] += row.get(name, 0)
        cost += row.get("cost_usd") or 0.0
        unknown += row.get("cost_usd") is None
        if outcome == "ok":
            waits.append(row.get("latency_ms") or 0.0)
    return Calls(
        outcomes=dict(outcomes),
        cached=cached,
        tokens_in=tokens["tokens_in"],
        tokens_out=tokens["tokens_out"],
        cost_usd=cost,
        cost_unknown=unknown,
        median_ms=median(waits) if waits else None,
    )


def opinions(paths: Paths, days: int) -> Opinions:
    """Return how the two recall judges voted in the last days."""
    votes: Counter[tuple[bool, bool]] = Counter()
    by_path: Counter[str] = Counter()
    none_kept = 0
    for row in Records(paths.state(), "recalls", days_ago(days)):
        judged = row.get("judge")
        if judged is None:
            continue
        by_path[judged.get("path", "")] += 1
        pairs = [tuple(pair) for pair in judged.get("verdicts", {}).values() if None not in pair]
        votes.update(pairs)
        if pairs:
            none_kept = 0 if any(True in pair for pair in pairs) else none_kept + 1
    return Opinions(
        both=votes[True, True],
        neither=votes[False, False],
        only_relevant=votes[True, False],
        only_useful=votes[False, True],
        paths=dict(by_path),
        none_kept=none_kept,
    )
