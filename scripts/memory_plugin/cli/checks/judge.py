"""The doctor's check of the judge. Nothing is asked and nothing is spent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...evaluation.evaluation_files import EvaluationError
from ...kernel.judge.asking import FOLDER
from ...kernel.judge.budget import Budget
from ...kernel.judge.failures import JudgeError, explain_failure, setup_options
from ...recall.judge_switches import missing_switches
from ..judge_figures import KEPT_NOTHING, opinions
from ..judged_features import FEATURES, dollars, judged_feature, judges_of, where
from .check import NOTE, OK, WARN, Check

if TYPE_CHECKING:
    from ..command_context import Session

__all__ = ["judge", "switches"]

_NAME = "judge"
_SWITCHES = "judge switches"
_DAYS = 30
_TRY = "memory judge check"


def judge(session: Session) -> Check:
    """Whether the judges that are on can be asked, and for somebody without a key what works anyway."""
    if session.places.state_dir is None:
        return Check(_NAME, NOTE, "off without a state folder")
    features = [feature for feature in FEATURES if session.settings.judge_asked_for(feature)]
    if not features:
        text = "off: the rules decide alone, without any model"
        return Check(_NAME, NOTE, text, "memory judge on")
    for feature in features:
        trouble = _trouble(session, feature)
        if trouble is not None:
            return trouble
    return _variables(session, features) or _accounts(session, features)


def _variables(session: Session, features: list[str]) -> Check | None:
    """Return what of the user's variables is ignored; None when nothing is."""
    said = dict.fromkeys(
        said
        for feature in features
        for judge in judges_of(session, feature)
        if judge.unready() is None
        for said in judge.warnings()
    )
    fix = "correct the file or the variable, then: %s" % _TRY
    return Check(_NAME, WARN, "on, but a variable is ignored", fix, tuple(said)) if said else None


def switches(session: Session) -> Check:
    """Whether something keeps the judges of recall from being asked although it looks as if they were on."""
    found = missing_switches(session.settings)
    if not found:
        return Check(_SWITCHES, OK, "nothing is set without effect")
    status = WARN if session.settings.judge_asked_for("retrieval") else NOTE
    return Check(_SWITCHES, status, found[0].says, found[0].fix, tuple(one.says for one in found[1:]))


def _trouble(session: Session, feature: str) -> Check | None:
    """Why no judge of a feature can be asked; None when one can."""
    try:
        troubles = [judge.unready() for judge in judges_of(session, feature)]
    except EvaluationError as error:
        return Check(
            _NAME, WARN, "evaluation.judge.judges: %s" % error, "memory config show evaluation.judge"
        )
    trouble = troubles[0] if troubles else None
    if trouble is None or not all(troubles):
        return None
    words = explain_failure(trouble.failure, feature)
    no_key = trouble.failure == "no_key"
    says = judged_feature(feature).without if no_key else words.says
    ways = tuple(setup_options(feature)) if no_key else ()
    fix = "take one of these two ways, then: memory judge check %s" % feature if no_key else words.do
    addresses = () if no_key else tuple(where(session, judges_of(session, feature)))
    text = "%s: %s: %s. %s" % (feature, trouble.failure, trouble.detail, says)
    return Check(_NAME, WARN, text, fix, (*ways, *addresses))


def _accounts(session: Session, features: list[str]) -> Check:
    """What earlier calls left behind."""
    try:
        figures = Budget(session.places.state(FOLDER)).figures(session.id)
    except JudgeError as failed:
        return Check(_NAME, WARN, failed.detail, explain_failure(failed.name, features[0]).do)
    if figures.off:
        words = explain_failure(figures.off, features[0])
        return Check(_NAME, WARN, words.says, words.do)
    silent = opinions(session.places, _DAYS).none_kept
    if silent >= KEPT_NOTHING:
        return Check(_NAME, WARN, "on, but it kept nothing in the last %d decisions" % silent, _TRY)
    addresses = [line for feature in features for line in where(session, judges_of(session, feature))]
    text = "on for %s; %s spent today" % (", ".join(features), dollars(figures.day))
    return Check(_NAME, OK, text, "", tuple(dict.fromkeys(addresses)))
