"""The doctor's check of the models that are named in the settings: when they end, and whether their price is known."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING, NamedTuple

from ...evaluation.evaluation_files import EvaluationError
from ...kernel.clock import iso, now
from ...kernel.judge.models import family_of, model_table
from ...kernel.judge.prices import price_of
from ..judged_features import FEATURES, judges_of
from .check import NOTE, OK, WARN, Check

if TYPE_CHECKING:
    from ...kernel.judge.asking import Judge
    from ..command_context import Session

__all__ = ["models"]

_NAME = "models"


class _Configured(NamedTuple):
    """A model that some settings name, and whether one of the features that would ask it is switched on."""

    judge: Judge
    keys: list[str]
    on: bool


def models(session: Session) -> Check:
    """Return whether a configured model has ended or ends soon, and whether a judge that is on has an unknown price."""
    configured = _configured(session)
    today = iso(now())[:10]
    ending = [(one, said) for one in configured for said in [_ending(one, today)] if said]
    details = tuple(said for _, said in ending)
    if ending:
        # What nobody asks at present is worth knowing, no more.
        status = WARN if any(one.on for one, _ in ending) else NOTE
        fix = "memory config set %s MODEL" % ending[0][0].keys[0]
        return Check(
            _NAME, status, "%d of %d configured models end" % (len(ending), len(configured)), fix, details
        )
    unpriced = [one for one in configured if one.on and not _price_known(one.judge, session)]
    if unpriced:
        names = ", ".join(one.judge.model for one in unpriced)
        fix = "memory config set judge.prices '{\"%s\": [IN, OUT]}'" % unpriced[0].judge.model
        text = (
            "the price of %s is unknown, so that the caps count a high guess; US dollars per million tokens:"
            % names
        )
        return Check(_NAME, NOTE, text, fix)
    return Check(
        _NAME, OK, "%d configured, none of which ends within %d days" % (len(configured), _warn_days())
    )


def _configured(session: Session) -> list[_Configured]:
    """Return each model once, with the keys that name it; a jury that cannot be read is the other check's business."""
    found: dict[tuple[str, str], _Configured] = {}
    for feature in FEATURES:
        on = session.settings.judge_asked_for(feature)
        key = feature + ".judge." + ("judges" if feature == "evaluation" else "model")
        try:
            judges = judges_of(session, feature)
        except EvaluationError:
            continue
        for judge in judges:
            before = found.get((judge.backend, judge.model), _Configured(judge, [], False))
            found[judge.backend, judge.model] = _Configured(judge, [*before.keys, key], before.on or on)
    return list(found.values())


def _ending(one: _Configured, today: str) -> str:
    """Return a sentence about a model that has ended or ends soon; empty for one that does not."""
    if one.judge.backend == "scripted":
        return ""
    family = family_of(one.judge.model, one.judge.backend)
    if not family.ends:
        return ""
    days = (date.fromisoformat(family.ends) - date.fromisoformat(today)).days
    if days > _warn_days():
        return ""
    when = "ends on %s, in %d days" % (family.ends, days) if days > 0 else "ended on %s" % family.ends
    instead = "; requests then go to %s" % family.then if family.then else ""
    return "%s (%s) %s%s" % (one.judge.model, ", ".join(dict.fromkeys(one.keys)), when, instead)


def _warn_days() -> int:
    return int(model_table()["warn_days"])


def _price_known(judge: Judge, session: Session) -> bool:
    return price_of(judge.model, judge.backend, session.settings.block("judge.prices")).known
