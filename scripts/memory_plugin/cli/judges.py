"""The features that can ask a judge: what each sends, about what it costs, and whom it asks."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING, Any, NamedTuple

from ..evaluation.jury import judge_at
from ..kernel.clock import iso, now
from ..kernel.judge.backends import load_backend
from ..kernel.judge.judge import Judge
from ..kernel.judge.models import family_of
from ..kernel.judge.prices import price_of
from ..kernel.ledger import Ledger
from ..kernel.native import loads
from ..kernel.paths import data_path
from ..kernel.settings.advice import terminal_safe
from .addresses import address_words

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..kernel.paths import Places
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
    "unknown for %s; the caps count it as if it cost $%g and $%g a million tokens in and out, until judge.prices says what it"
    " costs: memory config set judge.prices '{\"%s\": [IN, OUT]}'"
)
_OF_THIS_MACHINE = (
    "%s runs on this machine; the caps count it as if it cost $%g and $%g a million tokens in and out,"
    " until judge.prices says [0, 0] for it"
)
KEPT_NOTHING = 20  # decisions in a row without one approval: a judge that says no to everything helps nobody
_DAY = 86400


class JudgedFeature(NamedTuple):
    """What a feature's judge is asked about, in how many calls of about how many tokens in and out.

    For people: what is sent, what works without it, and what else there is to know or to switch on.
    """

    about: str
    calls: int
    tokens: list[int]
    sent: str
    without: str
    besides: str


def judged_feature(name: str) -> JudgedFeature:
    """What `config/judges/features.json` says of one of FEATURES."""
    with open(data_path("judges", "features.json"), encoding="utf-8") as file:
        table: Any = loads(file.read())
    return JudgedFeature(**table["features"][name])


def judges_of(context: CommandContext, feature: str) -> list[Judge]:
    """The judges of a feature, as a command may use them: one, or each of the jury. Raises EvaluationError for a backend unknown there."""
    off = terminal_safe(context.taint.why_off)
    settings = context.settings
    if feature == "evaluation":
        return [judge_at(context.within(0), name, off) for name in settings.texts("evaluation.judge.judges")]
    model = settings.text(feature + ".judge.model")
    return [Judge(feature, model, context.places, settings, context.session, off=off, helper=True)]


def where(context: CommandContext, judges: list[Judge]) -> list[str]:
    """The address of each judge's server and who names it, and which variables are not used, in sentences."""
    lines: list[str] = []
    for judge in judges:
        route, door = judge.route(), load_backend(judge.backend).DOOR
        if route is not None and door is not None:
            lines += address_words(context, route, (door.base_variable, *_HEADERS.get(judge.backend, ())))
    return list(dict.fromkeys(lines))


def costs(judges: list[Judge], feature: str, settings: Settings) -> str:
    """The price of one usual occasion, and the caps."""
    shape = judged_feature(feature)
    single = feature == "retrieval" and not settings.flag("retrieval.judge.dual_verification")
    calls = 1 if single else shape.calls
    said = [_price(judge, calls, shape, settings) for judge in judges]
    caps = settings.number("judge.caps.session_usd"), settings.number("judge.caps.day_usd")
    return "Cost: %s: %s. Caps of all judges together: $%.2f a session, $%.2f a day." % (
        shape.about,
        "; ".join(said),
        *caps,
    )


def dollars(amount: float) -> str:
    """Return an amount for people: four digits, six where those would show nothing."""
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

    `outcomes` counts by name, verdicts from the cache apart; `cost_usd` sums what is known, `cost_unknown` counts the
    calls whose cost is not; `median_ms` is None without an answer.
    """

    outcomes: dict[str, int]
    cached: int
    tokens_in: int
    tokens_out: int
    cost_usd: float
    cost_unknown: int
    median_ms: float | None


class Opinions(NamedTuple):
    """Candidates on which both judges spoke, by (relevant, useful); and the judged decisions that kept none, latest in a row."""

    both: int
    neither: int
    only_relevant: int
    only_useful: int
    paths: dict[str, int]
    none_kept: int

    @property
    def agreement(self) -> float | None:
        """The share of candidates on which both said the same, in [0, 1]; None without any."""
        all_of_them = self.both + self.neither + self.only_relevant + self.only_useful
        return (self.both + self.neither) / all_of_them if all_of_them else None


def _rows(places: Places, name: str, days: int) -> Iterator[dict[str, Any]]:
    since = iso(now() - days * _DAY)
    for row in Ledger(places.state(), name).rows():
        if str(row.get("time", "")) >= since:
            yield row


def calls(places: Places, days: int) -> Calls:
    """The calls of the last days."""
    outcomes: dict[str, int] = {}
    cached = unknown = 0
    tokens = {"tokens_in": 0, "tokens_out": 0}
    cost, waits = 0.0, []
    for row in _rows(places, "judge-calls", days):
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


def opinions(places: Places, days: int) -> Opinions:
    """What the judges said on the prompts of the last days."""
    said = {(True, True): 0, (False, False): 0, (True, False): 0, (False, True): 0}
    paths: dict[str, int] = {}
    in_a_row = 0
    for row in _rows(places, "recalls", days):
        judged = row.get("judge")
        if not isinstance(judged, dict):
            continue
        path = str(judged.get("path"))
        paths[path] = paths.get(path, 0) + 1
        pairs = _pairs(judged.get("verdicts"))
        for pair in pairs:
            said[pair] += 1
        if pairs:
            in_a_row = 0 if any(True in pair for pair in pairs) else in_a_row + 1
    return Opinions(
        said[True, True], said[False, False], said[True, False], said[False, True], paths, in_a_row
    )


def _pairs(verdicts: object) -> list[tuple[bool, bool]]:
    """The candidates on which both judges spoke."""
    values = verdicts.values() if isinstance(verdicts, dict) else ()
    pairs = [pair for pair in values if isinstance(pair, list) and len(pair) == 2]
    return [(one, other) for one, other in pairs if isinstance(one, bool) and isinstance(other, bool)]
