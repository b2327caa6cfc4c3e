"""The doctor's check of the judge. Nothing is asked and nothing is spent."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING, NamedTuple

from ...evaluation.evaluation_files import EvaluationError
from ...kernel.clock import iso, now
from ...kernel.judge.accounts import Accounts
from ...kernel.judge.judge import FOLDER
from ...kernel.judge.models import family_of, model_table
from ...kernel.judge.outcome import Failed
from ...kernel.judge.prices import price_of
from ...kernel.judge.words import ways_to_a_judge, words_for
from ...recall.judge_switches import missing_switches
from ..judges import FEATURES, KEPT_NOTHING, dollars, judged_feature, judges_of, opinions, where
from . import NOTE, OK, WARN, Check

if TYPE_CHECKING:
    from ...kernel.judge.judge import Judge
    from ..command_context import CommandContext

__all__ = ["judge", "models", "switches"]

_JUDGE = "judge"
_MODELS = "models"
_SWITCHES = "judge switches"
_DAYS = 30
_TRY = "memory judge check"


def judge(context: CommandContext) -> Check:
    """Whether the judges that are on can be asked, and for somebody without a key what works anyway."""
    if context.places.state_dir is None:
        return Check(_JUDGE, NOTE, "off without a state folder")
    features = [feature for feature in FEATURES if context.settings.judge_asked_for(feature)]
    if not features:
        text = "off: the rules decide alone, without any model"
        return Check(_JUDGE, NOTE, text, "memory judge on")
    for feature in features:
        trouble = _trouble(context, feature)
        if trouble is not None:
            return trouble
    return _variables(context, features) or _accounts(context, features)


def _variables(context: CommandContext, features: list[str]) -> Check | None:
    """Return what of the user's variables is ignored; None when nothing is."""
    said = dict.fromkeys(
        said
        for feature in features
        for judge in judges_of(context, feature)
        if judge.unready() is None
        for said in judge.warnings()
    )
    fix = "correct the file or the variable, then: %s" % _TRY
    return Check(_JUDGE, WARN, "on, but a variable is ignored", fix, tuple(said)) if said else None


def switches(context: CommandContext) -> Check:
    """Whether something keeps the judges of recall from being asked although it looks as if they were on."""
    found = missing_switches(context.settings)
    if not found:
        return Check(_SWITCHES, OK, "nothing is set without effect")
    status = WARN if context.settings.judge_asked_for("retrieval") else NOTE
    return Check(_SWITCHES, status, found[0].says, found[0].fix, tuple(one.says for one in found[1:]))


def _trouble(context: CommandContext, feature: str) -> Check | None:
    """Why no judge of a feature can be asked; None when one can."""
    try:
        troubles = [judge.unready() for judge in judges_of(context, feature)]
    except EvaluationError as error:
        return Check(
            _JUDGE, WARN, "evaluation.judge.judges: %s" % error, "memory config show evaluation.judge"
        )
    trouble = troubles[0] if troubles else None
    if trouble is None or not all(troubles):
        return None
    words = words_for(trouble.failure, feature)
    no_key = trouble.failure == "no_key"
    says = judged_feature(feature).without if no_key else words.says
    ways = tuple(ways_to_a_judge(feature)) if no_key else ()
    fix = "take one of these two ways, then: memory judge check %s" % feature if no_key else words.do
    addresses = tuple(where(context, judges_of(context, feature)))
    text = "%s: %s: %s. %s" % (feature, trouble.failure, trouble.detail, says)
    return Check(_JUDGE, WARN, text, fix, (*ways, *addresses))


def _accounts(context: CommandContext, features: list[str]) -> Check:
    """What earlier calls left behind."""
    try:
        figures = Accounts(context.places.state(FOLDER)).figures(context.session)
    except Failed as failed:
        return Check(_JUDGE, WARN, failed.detail, words_for(failed.name, features[0]).do)
    if figures.off:
        words = words_for(figures.off, features[0])
        return Check(_JUDGE, WARN, words.says, words.do)
    silent = opinions(context.places, _DAYS).none_kept
    if silent >= KEPT_NOTHING:
        return Check(_JUDGE, WARN, "on, but it kept nothing in the last %d decisions" % silent, _TRY)
    addresses = [line for feature in features for line in where(context, judges_of(context, feature))]
    text = "on for %s; %s spent today" % (", ".join(features), dollars(figures.day))
    return Check(_JUDGE, OK, text, "", tuple(dict.fromkeys(addresses)))


class _Configured(NamedTuple):
    """A model that some settings name, and whether one of the features that would ask it is switched on."""

    judge: Judge
    keys: list[str]
    on: bool


def models(context: CommandContext) -> Check:
    """Return whether a configured model has ended or ends soon, and whether a judge that is on has an unknown price."""
    configured = _configured(context)
    today = iso(now())[:10]
    ending = [(one, said) for one in configured for said in [_ending(one, today)] if said]
    details = tuple(said for _, said in ending)
    if ending:
        # What nobody asks at present is worth knowing, no more.
        status = WARN if any(one.on for one, _ in ending) else NOTE
        fix = "memory config set %s MODEL" % ending[0][0].keys[0]
        return Check(
            _MODELS, status, "%d of %d configured models end" % (len(ending), len(configured)), fix, details
        )
    unpriced = [one for one in configured if one.on and not _price_known(one.judge, context)]
    if unpriced:
        names = ", ".join(one.judge.model for one in unpriced)
        fix = "memory config set judge.prices '{\"%s\": [IN, OUT]}'" % unpriced[0].judge.model
        text = (
            "the price of %s is unknown, so that the caps count a high guess; US dollars per million tokens:"
            % names
        )
        return Check(_MODELS, NOTE, text, fix)
    return Check(
        _MODELS, OK, "%d configured, none of which ends within %d days" % (len(configured), _warn_days())
    )


def _configured(context: CommandContext) -> list[_Configured]:
    """Return each model once, with the keys that name it; a jury that cannot be read is the other check's business."""
    found: dict[tuple[str, str], _Configured] = {}
    for feature in FEATURES:
        on = context.settings.judge_asked_for(feature)
        key = feature + ".judge." + ("judges" if feature == "evaluation" else "model")
        try:
            judges = judges_of(context, feature)
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


def _price_known(judge: Judge, context: CommandContext) -> bool:
    return price_of(judge.model, judge.backend, context.settings.block("judge.prices")).known
