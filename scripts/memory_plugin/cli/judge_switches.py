"""Find settings that keep a judge from being asked although it looks switched on: some features need two switches."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ..kernel.settings.load import USER

if TYPE_CHECKING:
    from ..kernel.settings.load import Settings

_SWITCH = "retrieval.judge.enabled"


class MissingSwitch(NamedTuple):
    """A setting that has no effect: a message for the user, and the command that fixes it."""

    says: str
    fix: str


def missing_switches(settings: Settings, feature: str = "") -> list[MissingSwitch]:
    """Return the settings that keep a judge from being asked, for one feature or for all."""
    checks = {"retrieval": _of_recall, "scoring": _of_replies, "sessions": _of_sessions}
    chosen = [check for name, check in checks.items() if feature in ("", name)]
    return [switch for check in chosen for switch in check(settings)]


def _of_replies(settings: Settings) -> list[MissingSwitch]:
    is_on, is_hybrid = settings.is_judge_enabled("scoring"), settings.text("scoring.mode") == "hybrid"
    if is_hybrid and not is_on:
        says = "scoring.mode is hybrid, but no judge is asked: scoring.judge.enabled is false"
        return [MissingSwitch(says, "memory judge on scoring")]
    if is_on and not settings.flag("scoring.enabled"):
        says = "the judge of scoring is on, but scoring.enabled is false: no reply is scored"
        return [MissingSwitch(says, "memory config set scoring.enabled true")]
    if is_on and not is_hybrid:
        says = (
            "the judge of scoring is on, but scoring.mode is %s: only `memory replies score --deep` asks it"
        )
        return [MissingSwitch(says % settings.text("scoring.mode"), "memory config set scoring.mode hybrid")]
    return []


def _of_sessions(settings: Settings) -> list[MissingSwitch]:
    if settings.flag("sessions.automatic.enabled") and not settings.is_judge_enabled("sessions"):
        says = "sessions.automatic.enabled alone grades nothing: sessions.judge.enabled is false"
        return [MissingSwitch(says, "memory judge on sessions")]
    return []


def _of_recall(settings: Settings) -> list[MissingSwitch]:
    if not settings.is_judge_enabled("retrieval"):
        return _set_without_switch(settings)
    if not settings.flag("retrieval.enabled"):
        says = "the judge of retrieval is on, but retrieval.enabled is false: no prompt asks it"
        return [MissingSwitch(says, "memory config set retrieval.enabled true")]
    switches = []
    if settings.text("retrieval.match_strategy") == "keyword":
        says = "the judge of retrieval is on, but retrieval.match_strategy is keyword: no judge is asked about what keywords find"
        switches.append(MissingSwitch(says, "memory config set retrieval.match_strategy fts5_bm25"))
    for name in ("retrieval.max_inject", "retrieval.judge.modes.auto.max_output"):
        if settings.integer(name) == 0:
            says = "the judge of retrieval is on, but %s is 0: no prompt asks it" % name
            switches.append(MissingSwitch(says, "memory config set %s 3" % name))
    return switches + _nothing_unsure(settings)


def _set_without_switch(settings: Settings) -> list[MissingSwitch]:
    """Return a note if the user has set keys of the judge while it is off."""
    own = [
        name
        for name in settings.all_keys()
        if name.startswith("retrieval.judge.") and name != _SWITCH and settings.origin(name) == USER
    ]
    if not own:
        return []
    says = "%s has no effect on prompts: retrieval.judge.enabled is false" % own[0]
    return [MissingSwitch(says, "memory judge on retrieval")]


def _nothing_unsure(settings: Settings) -> list[MissingSwitch]:
    minimum, threshold = "retrieval.judge.min_confidence", "retrieval.inject_threshold"
    is_always_asked = settings.text("retrieval.judge.when") == "always"
    if is_always_asked or settings.number(minimum) < settings.user_number(threshold):
        return []
    says = "the judge of retrieval is on, but %s is not below %s: nothing is unsure" % (minimum, threshold)
    return [MissingSwitch(says, "memory config unset " + minimum)]
