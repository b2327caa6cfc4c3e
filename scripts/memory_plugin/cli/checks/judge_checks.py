"""Checks of the judges and of the models in the settings. No judge is asked and nothing is spent."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING, NamedTuple

from ...evaluation.evaluation_files import EvaluationError
from ...kernel.clock import iso, now
from ...kernel.judge.asking import FOLDER
from ...kernel.judge.budget import SpendingBudget
from ...kernel.judge.errors import JudgeError, explain_failure, setup_options
from ...kernel.judge.models import family_of, model_table, price_of
from ..console import counted
from ..judge_switches import missing_switches
from ..judges import FEATURES, KEPT_NOTHING, dollars, judged_feature, judges_of, opinions, where
from . import NOTE, OK, WARN, Check

if TYPE_CHECKING:
    from ...kernel.judge.asking import Judge
    from ..command_context import CommandContext

_JUDGE = "judge"
_MODELS = "models"
_SWITCHES = "judge switches"
_DAYS = 30
_TRY = "memory judge check"


def judge(context: CommandContext) -> Check:
    """Check that the enabled judges can be asked; without a key, say what works anyway."""
    if context.paths.state_dir is None:
        return Check(_JUDGE, NOTE, "off, because there is no state folder")
    features = [feature for feature in FEATURES if context.settings.is_judge_enabled(feature)]
    if not features:
        text = "off; rules alone decide, without any model"
        return Check(_JUDGE, NOTE, text, "memory judge on")
    for feature in features:
        problem = _problem(context, feature) if _is_asked(context, feature) else None
        if problem is not None:
            return problem
    return _variables(context, features) or _accounts(context, features)


def _is_asked(context: CommandContext, feature: str) -> bool:
    """Return whether this judge is ever asked; that of replies only in hybrid mode, so a missing key is no problem otherwise."""
    return feature != "scoring" or context.settings.text("scoring.mode") == "hybrid"


def _variables(context: CommandContext, features: list[str]) -> Check | None:
    """Return a warning about the user's variables that judges ignore, or None."""
    warnings = dict.fromkeys(
        warning
        for feature in features
        for judge in judges_of(context, feature)
        if judge.unready() is None
        for warning in judge.warnings()
    )
    fix = "correct the file or the variable, then run: %s" % _TRY
    return Check(_JUDGE, WARN, "on, but a variable is ignored", fix, tuple(warnings)) if warnings else None


def switches(context: CommandContext) -> Check:
    """Check for settings that look as if a judge were on although it is never asked."""
    missing = missing_switches(context.settings)
    if not missing:
        return Check(_SWITCHES, OK, "every judge setting takes effect")
    status = WARN if any(map(context.settings.is_judge_enabled, FEATURES)) else NOTE
    details = tuple(switch.says for switch in missing[1:])
    return Check(_SWITCHES, status, missing[0].says, missing[0].fix, details)


def _problem(context: CommandContext, feature: str) -> Check | None:
    """Return a warning with the reason why no judge of a feature can be asked; None if at least one can."""
    try:
        failures = [judge.unready() for judge in judges_of(context, feature)]
    except EvaluationError as error:
        return Check(
            _JUDGE, WARN, "evaluation.judge.judges: %s" % error, "memory config show evaluation.judge"
        )
    failure = failures[0] if failures else None
    if failure is None or not all(failures):
        return None
    words = explain_failure(failure.failure, feature)
    no_key = failure.failure == "no_key"
    says = judged_feature(feature).without if no_key else words.says
    ways = tuple(setup_options(feature)) if no_key else ()
    fix = "choose one of these two ways, then run: memory judge check %s" % feature if no_key else words.do
    addresses = () if no_key else tuple(where(context, judges_of(context, feature)))
    text = "%s: %s: %s. %s" % (feature, failure.failure, failure.detail, says)
    return Check(_JUDGE, WARN, text, fix, (*ways, *addresses))


def _accounts(context: CommandContext, features: list[str]) -> Check:
    """Check the costs, failures and votes of earlier calls."""
    try:
        figures = SpendingBudget(context.paths.state(FOLDER)).figures(context.session)
    except JudgeError as failed:
        return Check(_JUDGE, WARN, failed.detail, explain_failure(failed.name, features[0]).do)
    if figures.off:
        words = explain_failure(figures.off, features[0])
        return Check(_JUDGE, WARN, words.says, words.do)
    none_kept = opinions(context.paths, _DAYS).none_kept
    if none_kept >= KEPT_NOTHING:
        text = "on, but the judges kept no memory in the last %d decisions" % none_kept
        return Check(_JUDGE, WARN, text, _TRY)
    addresses = [line for feature in features for line in where(context, judges_of(context, feature))]
    text = "on for %s; %s spent today" % (", ".join(features), dollars(figures.day))
    return Check(_JUDGE, OK, text, "", tuple(dict.fromkeys(addresses)))


class _ConfiguredModel(NamedTuple):
    """A model in the settings, the setting keys that name it, and whether a judge that uses it is on."""

    judge: Judge
    keys: list[str]
    on: bool


def models(context: CommandContext) -> Check:
    """Check for models that are retired or soon will be, and for unknown prices."""
    configured = _configured(context)
    today = iso(now())[:10]
    ending = [(model, sentence) for model in configured for sentence in [_ending(model, today)] if sentence]
    details = tuple(sentence for _, sentence in ending)
    if ending:
        # A model of a judge that is off is worth a note, not a warning.
        status = WARN if any(model.on for model, _ in ending) else NOTE
        fix = "memory config set %s MODEL" % ending[0][0].keys[0]
        text = "%d of %s retired or soon to be" % (len(ending), counted(len(configured), "configured model"))
        return Check(_MODELS, status, text, fix, details)
    unpriced = [model for model in configured if model.on and not _price_known(model.judge, context)]
    if unpriced:
        names = ", ".join(model.judge.model for model in unpriced)
        fix = "memory config set judge.prices '{\"%s\": [IN, OUT]}'" % unpriced[0].judge.model
        text = "the price of %s is unknown, so the caps assume a high one; set it in US dollars per million tokens"
        return Check(_MODELS, NOTE, text % names, fix)
    text = "%d configured; none will be retired within %d days" % (len(configured), _warn_days())
    return Check(_MODELS, OK, text)


def _configured(context: CommandContext) -> list[_ConfiguredModel]:
    """Return each configured model once. An invalid jury is skipped, since `judge` reports it."""
    models: dict[tuple[str, str], _ConfiguredModel] = {}
    for feature in FEATURES:
        on = context.settings.is_judge_enabled(feature)
        key = feature + ".judge." + ("judges" if feature == "evaluation" else "model")
        try:
            judges = judges_of(context, feature)
        except EvaluationError:
            continue
        for judge in judges:
            before = models.get((judge.backend, judge.model), _ConfiguredModel(judge, [], False))
            models[judge.backend, judge.model] = _ConfiguredModel(judge, [*before.keys, key], before.on or on)
    return list(models.values())


def _ending(model: _ConfiguredModel, today: str) -> str:
    """Return a sentence about a model that was retired or soon will be; empty for any other."""
    if model.judge.backend == "scripted":
        return ""
    family = family_of(model.judge.model, model.judge.backend)
    if not family.ends:
        return ""
    days = (date.fromisoformat(family.ends) - date.fromisoformat(today)).days
    if days > _warn_days():
        return ""
    when = "was retired on %s" % family.ends
    if days > 0:
        when = "will be retired on %s, in %s" % (family.ends, counted(days, "day"))
    instead = "; requests then go to %s" % family.then if family.then else ""
    return "%s (%s) %s%s" % (model.judge.model, ", ".join(dict.fromkeys(model.keys)), when, instead)


def _warn_days() -> int:
    return int(model_table()["warn_days"])


def _price_known(judge: Judge, context: CommandContext) -> bool:
    return price_of(judge.model, judge.backend, context.settings.block("judge.prices")).known
