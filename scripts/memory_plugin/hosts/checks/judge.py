"""The doctor's check of the judge. Nothing is asked and nothing is spent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...kernel.judge.accounts import Accounts
from ...kernel.judge.judge import FOLDER
from ...kernel.judge.outcome import Failed
from ...kernel.judge.words import ways_to_a_judge, words_for
from ..commands.judge import judge_of
from ..judge_figures import KEPT_NOTHING, opinions
from .check import NOTE, OK, WARN, Check

if TYPE_CHECKING:
    from ..session_context import Session

__all__ = ["judge"]

_NAME = "judge"
_DAYS = 30
_TRY = "memory judge check"


def judge(session: Session) -> Check:
    """Whether the judge can be asked, and for somebody without a key what works anyway."""
    if session.places.state_dir is None:
        return Check(_NAME, NOTE, "off without a state folder")
    if not session.settings.judge_asked_for("retrieval"):
        text = "off: what the rules are sure of is injected, without any model"
        return Check(_NAME, NOTE, text, "memory judge on")
    trouble = judge_of(session).unready()
    if trouble is None:
        return _accounts(session)
    words = words_for(trouble.failure)
    ways = tuple(ways_to_a_judge()) if trouble.failure == "no_key" else ()
    return Check(_NAME, WARN, "%s: %s. %s" % (trouble.failure, trouble.detail, words.says), words.do, ways)


def _accounts(session: Session) -> Check:
    """What earlier calls left behind."""
    try:
        figures = Accounts(session.places.state(FOLDER)).figures(session.id)
    except Failed as failed:
        return Check(_NAME, WARN, failed.detail, words_for(failed.name).do)
    if figures.off:
        return Check(_NAME, WARN, words_for(figures.off).says, words_for(figures.off).do)
    silent = opinions(session.places, _DAYS).none_kept
    if silent >= KEPT_NOTHING:
        return Check(_NAME, WARN, "on, but it kept nothing in the last %d decisions" % silent, _TRY)
    return Check(_NAME, OK, "on; $%.4f spent today" % figures.day)
