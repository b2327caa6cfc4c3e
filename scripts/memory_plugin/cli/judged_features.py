"""The features that can ask a judge: what each sends, about what it costs, and whom it asks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from ..evaluation.jury import judge_at
from ..kernel.clock import Deadline
from ..kernel.context import Context
from ..kernel.fastjson import loads
from ..kernel.judge.asking import Judge
from ..kernel.judge.backends import load_backend
from ..kernel.judge.models import family_of
from ..kernel.judge.prices import price_of
from ..kernel.paths import data_path
from ..kernel.settings.advice import terminal_safe
from .addresses import address_words

if TYPE_CHECKING:
    from ..kernel.settings.load import Settings
    from .command_context import Session

__all__ = ["FEATURES", "JudgedFeature", "costs", "dollars", "judged_feature", "judges_of", "where"]

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
    """What `config/judge/features.json` says of one of FEATURES."""
    with open(data_path("judge", "features.json"), encoding="utf-8") as file:
        table: Any = loads(file.read())
    return JudgedFeature(**table["features"][name])


def judges_of(session: Session, feature: str) -> list[Judge]:
    """The judges of a feature, as a command may use them: one, or each of the jury. Raises EvaluationError for a backend unknown there."""
    off = terminal_safe(session.taint.why_off)
    settings = session.settings
    if feature == "evaluation":
        context = Context(session.places, settings, Deadline(0), session.id)
        return [judge_at(context, name, off) for name in settings.texts("evaluation.judge.judges")]
    model = settings.text(feature + ".judge.model")
    return [Judge(feature, model, session.places, settings, session.id, off=off, helper=True)]


def where(session: Session, judges: list[Judge]) -> list[str]:
    """The address of each judge's server and who names it, and which variables are not used, in sentences."""
    lines: list[str] = []
    for judge in judges:
        route, endpoint = judge.route(), load_backend(judge.backend).ENDPOINT
        if route is not None and endpoint is not None:
            lines += address_words(session, route, (endpoint.base_variable, *_HEADERS.get(judge.backend, ())))
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
