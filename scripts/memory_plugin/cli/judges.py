"""The judges of the features: what each is sent, at which address, at what cost; and what the ledgers say they did."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING, Any, NamedTuple

from ..evaluation.jury import judge_at
from ..kernel.clock import iso, now
from ..kernel.data import load_data
from ..kernel.judge.asking import Judge, judge_for
from ..kernel.judge.backends import load_backend
from ..kernel.judge.models import family_of
from ..kernel.judge.prices import price_of
from ..kernel.ledger import Ledger
from ..kernel.settings.advice import terminal_safe
from .addresses import address_words

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..kernel.paths import Paths
    from ..kernel.settings.load import Settings
    from .command_context import CommandContext

__all__ = [
    "FEATURES",
    "KEPT_NOTHING",
    "Calls",
    "JudgedFeature",
    "Opinions",
    "calls",
    "costs",
    "dollars",
    "judged_feature",
    "judges_of",
    "opinions",
    "where",
]

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
KEPT_NOTHING = 20  # decisions in a row without an approval: a judge that always says no is of no use
_DAY = 86400


class JudgedFeature(NamedTuple):
    """What a feature's judge is asked about, in how many calls, with about how many tokens in and out.

    For people: `sent` to the judge, what works `without` one, and what else there is to know or to switch on (`also`).
    """

    about: str
    calls: int
    tokens: list[int]
    sent: str
    without: str
    also: str


def judged_feature(name: str) -> JudgedFeature:
    """Return what `config/judges/features.json` says about one of FEATURES."""
    return JudgedFeature(**load_data("judges", "features")["features"][name])


def judges_of(context: CommandContext, feature: str) -> list[Judge]:
    """Return the judges of a feature for a command: one, or each of the jury. Raises EvaluationError for an unknown backend."""
    off = terminal_safe(context.taint.why_off)
    settings = context.settings
    if feature == "evaluation":
        return [judge_at(context.within(0), name, off) for name in settings.texts("evaluation.judge.judges")]
    return [judge_for(feature, context, off=off)]


def where(context: CommandContext, judges: list[Judge]) -> list[str]:
    """Return sentences: the address of each judge's server and who sets it, and which variables are ignored."""
    lines: list[str] = []
    for judge in judges:
        route, endpoint = judge.address_source(), load_backend(judge.backend).ENDPOINT
        if route is not None and endpoint is not None:
            lines += address_words(context, route, (endpoint.base_variable, *_HEADERS.get(judge.backend, ())))
    return list(dict.fromkeys(lines))


def costs(judges: list[Judge], feature: str, settings: Settings) -> str:
    """Return a sentence with the usual price and the caps."""
    shape = judged_feature(feature)
    single = feature == "retrieval" and not settings.flag("retrieval.judge.dual_verification")
    calls = 1 if single else shape.calls
    said = [_price(judge, calls, shape, settings) for judge in judges]
    caps = settings.number("judge.caps.session_usd"), settings.number("judge.caps.day_usd")
    return "Cost: %s: %s. Caps for all judges together: $%.2f a session, $%.2f a day." % (
        shape.about,
        "; ".join(said),
        *caps,
    )


def dollars(amount: float) -> str:
    """Return an amount for people: four decimals, or six if those would show nothing."""
    return "$%.4f" % amount if amount >= 0.0001 or not amount else "$%.6f" % amount


def _price(judge: Judge, calls: int, shape: JudgedFeature, settings: Settings) -> str:
    price = price_of(judge.model, judge.backend, settings.block("judge.prices"))
    if price.known:
        who = judge.model if calls == 1 else "%d calls to %s" % (calls, judge.model)
        more = family_of(judge.model, judge.backend).more_tokens if judge.backend != "scripted" else 1.0
        cost = price.dollars(*(round(count * more) for count in shape.tokens)) * calls
        return "%s (%s, prices of %s)" % ("about " + dollars(cost) if cost else "nothing", who, price.as_of)
    if judge.needs_no_key():
        return _OF_THIS_MACHINE % (judge.model, *price.tiers[-1][1:])
    return _UNKNOWN % (judge.model, *price.tiers[-1][1:], judge.model)


class Calls(NamedTuple):
    """Calls to models.

    `outcomes` counts by name, without verdicts from the cache. `cost_usd` is the sum of the known costs, `cost_unknown` the number
    of calls without one. `median_ms` is None without an answer.
    """

    outcomes: dict[str, int]
    cached: int
    tokens_in: int
    tokens_out: int
    cost_usd: float
    cost_unknown: int
    median_ms: float | None


class Opinions(NamedTuple):
    """The candidates on which both judges voted, by (relevant, useful).

    `none_kept` counts the latest judged decisions in a row that kept no memory.
    """

    both: int
    neither: int
    only_relevant: int
    only_useful: int
    paths: dict[str, int]
    none_kept: int

    @property
    def agreement(self) -> float | None:
        """Return the share of candidates on which both agreed, in [0, 1]; None without any."""
        all_of_them = self.both + self.neither + self.only_relevant + self.only_useful
        return (self.both + self.neither) / all_of_them if all_of_them else None


def _rows(paths: Paths, name: str, days: int) -> Iterator[dict[str, Any]]:
    since = iso(now() - days * _DAY)
    for row in Ledger(paths.state(), name).rows():
        if str(row.get("time", "")) >= since:
            yield row


def calls(paths: Paths, days: int) -> Calls:
    """Return the calls of the last days."""
    outcomes: dict[str, int] = {}
    cached = unknown = 0
    tokens = {"tokens_in": 0, "tokens_out": 0}
    cost, waits = 0.0, []
    for row in _rows(paths, "judge-calls", days):
        if row.get("cached") is True:
            cached += 1
            continue
        outcome = str(row.get("outcome"))
        outcomes[outcome] = outcomes.get(outcome, 0) + 1
        for name in tokens:
            tokens[name] += int(_number(row.get(name)))
        cost += _number(row.get("cost_usd"))
        unknown += row.get("cost_usd") is None
        if outcome == "ok":
            waits.append(_number(row.get("latency_ms")))
    middle = median(waits) if waits else None
    return Calls(outcomes, cached, tokens["tokens_in"], tokens["tokens_out"], cost, unknown, middle)


def _number(value: object) -> float:
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else 0.0


def opinions(paths: Paths, days: int) -> Opinions:
    """Return how the two judges of recall voted in the last days."""
    said = {(True, True): 0, (False, False): 0, (True, False): 0, (False, True): 0}
    by_path: dict[str, int] = {}
    in_a_row = 0
    for row in _rows(paths, "recalls", days):
        judged = row.get("judge")
        if not isinstance(judged, dict):
            continue
        path = str(judged.get("path"))
        by_path[path] = by_path.get(path, 0) + 1
        pairs = _pairs(judged.get("verdicts"))
        for pair in pairs:
            said[pair] += 1
        if pairs:
            in_a_row = 0 if any(True in pair for pair in pairs) else in_a_row + 1
    return Opinions(
        said[True, True], said[False, False], said[True, False], said[False, True], by_path, in_a_row
    )


def _pairs(verdicts: object) -> list[tuple[bool, bool]]:
    """Return the votes of both judges for the candidates on which both voted."""
    values = verdicts.values() if isinstance(verdicts, dict) else ()
    pairs = [pair for pair in values if isinstance(pair, list) and len(pair) == 2]
    return [(one, other) for one, other in pairs if isinstance(one, bool) and isinstance(other, bool)]
