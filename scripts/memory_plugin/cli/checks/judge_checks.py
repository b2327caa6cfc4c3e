"""Checks of the judges and of the models in the settings. No judge is asked and nothing is spent."""

from __future__ import annotations

from datetime import date

from ...evaluation import EvaluationError
from ...kernel.clock import iso, now
from ...kernel.judge.asking import FOLDER
from ...kernel.judge.budget import SpendingBudget
from ...kernel.judge.models import family_of, model_table, price_of
from ...kernel.judge.question import JudgeError, explain_failure
from ...kernel.judge.vendors import HOST
from ..command_context import CommandContext
from ..console import counted
from ..judges import FEATURES, KEPT_NOTHING, advice, dollars, host_sentence, judges_of, opinions, where
from . import NOTE, OK, WARN, Check

_JUDGE = "judge"
_MODELS = "models"
_DAYS = 30
_TRY = "memory judge check"


def judge(context: CommandContext) -> Check:
    """Check that the enabled judges can be asked; without a key, say what works anyway."""
    if context.paths.state_dir is None:
        return Check(_JUDGE, NOTE, "off, because there is no state folder")
    features = [feature for feature in FEATURES if context.settings.is_judge_enabled(feature)]
    if not features:
        return Check(_JUDGE, NOTE, "off; rules alone decide, without any model", "memory judge on")
    addresses: list[str] = []
    for feature in features:
        try:
            judges = judges_of(context, feature)
        except EvaluationError as error:
            text = "evaluation.judge.judges: %s" % error
            return Check(_JUDGE, WARN, text, "memory config show evaluation.judge")
        problems = [None if judge.backend == HOST else judge.unready() for judge in judges]
        addresses += where(context, judges)
        if any(judge.backend == HOST for judge in judges):
            addresses.append(host_sentence(context.settings))
        if problems and problems[0] and all(problems):
            failed = problems[0]
            says, *more = advice(failed.failure, feature)
            text = "%s: %s: %s. %s" % (feature, failed.failure, failed.detail, says)
            return Check(_JUDGE, WARN, text, "%s %s" % (_TRY, feature), (*more, *addresses))
    return _accounts(context, features, tuple(dict.fromkeys(addresses)))


def _accounts(context: CommandContext, features: list[str], addresses: tuple[str, ...]) -> Check:
    """Check the costs, failures and votes of earlier calls."""
    try:
        figures = SpendingBudget(context.paths.state(FOLDER)).figures(context.session)
    except JudgeError as failed:
        return Check(_JUDGE, WARN, failed.detail, explain_failure(failed.name, features[0]).do)
    if figures.off:
        return Check(_JUDGE, WARN, *explain_failure(figures.off, features[0]))
    none_kept = opinions(context.paths, _DAYS)["none_kept"]
    if none_kept >= KEPT_NOTHING:
        text = "on, but the judges kept no memory in the last %d decisions" % none_kept
        return Check(_JUDGE, WARN, text, _TRY)
    text = "on for %s; %s spent today" % (", ".join(features), dollars(figures.day))
    return Check(_JUDGE, OK, text, "", addresses)


def models(context: CommandContext) -> Check:
    """Check for models that are retired or soon will be, and for unknown prices. A model of a judge that is off is worth a note."""
    names: dict[tuple[str, str], list[str]] = {}  # the setting keys that name each model
    used: set[tuple[str, str]] = set()  # the models of judges that are on
    for feature in FEATURES:
        try:
            judges = judges_of(context, feature)
        except EvaluationError:
            continue  # reported by `judge`
        key = feature + ".judge." + ("judges" if feature == "evaluation" else "model")
        for judge in judges:
            names.setdefault((judge.backend, judge.model), []).append(key)
            if context.settings.is_judge_enabled(feature):
                used.add((judge.backend, judge.model))
    ending = {model: text for model in names for text in [_ending(*model, names[model])] if text}
    if ending:
        status = WARN if any(model in used for model in ending) else NOTE
        fix = "memory config set %s MODEL" % names[next(iter(ending))][0]
        text = "%d of %s retired or soon to be" % (len(ending), counted(len(names), "configured model"))
        return Check(_MODELS, status, text, fix, tuple(ending.values()))
    prices = context.settings.block("judge.prices")
    unpriced = [model for backend, model in used if not price_of(model, backend, prices).known]
    if unpriced:
        fix = "memory config set judge.prices '{\"%s\": [IN, OUT]}'" % unpriced[0]
        text = "the price of %s is unknown, so the caps assume a high one; set it in US dollars per million tokens"
        return Check(_MODELS, NOTE, text % ", ".join(unpriced), fix)
    days = model_table()["warn_days"]
    return Check(_MODELS, OK, "%d configured; none will be retired within %d days" % (len(names), days))


def _ending(backend: str, model: str, keys: list[str]) -> str:
    """Return a sentence about a model that was retired or soon will be; empty for any other."""
    family = family_of(model, backend)
    if not family.ends:
        return ""
    days = (date.fromisoformat(family.ends) - date.fromisoformat(iso(now())[:10])).days
    if days > model_table()["warn_days"]:
        return ""
    when = "was retired on %s" % family.ends
    if days > 0:
        when = "will be retired on %s, in %s" % (family.ends, counted(days, "day"))
    instead = "; requests then go to %s" % family.then if family.then else ""
    return "%s (%s) %s%s" % (model, ", ".join(dict.fromkeys(keys)), when, instead)
