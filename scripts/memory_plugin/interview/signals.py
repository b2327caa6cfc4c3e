"""The six qualitative signals of an answer: each checked by itself, with rules that read what they can where one is missing."""

from __future__ import annotations

from .wording import count, holds, spoken

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Signals = dict[str, dict[str, Any]]

__all__ = ["checked", "is_terminal", "sentiment", "signals_by_rule", "wants_to_stop"]

_MAX_TEXT = 300


def checked(given: object, table: dict[str, Any]) -> tuple[Signals, list[str]]:
    """The signals that are valid, and the names of those that were dropped; one that is wrong takes no other with it."""
    if not isinstance(given, dict):
        return {}, [] if given is None else ["signals"]
    found: Signals = {}
    dropped: list[str] = []
    for name, value in given.items():
        if value is None:  # what an answer does not show is left out, or null where a schema wants every key
            continue
        rule = table["signals"].get(name)
        fields = _fields(value, rule) if rule is not None and isinstance(value, dict) else None
        if fields is None:
            dropped.append(str(name)[:40])
        else:
            found[name] = fields
    return found, dropped


def _fields(value: dict[str, Any], rule: dict[str, Any]) -> dict[str, Any] | None:
    """The known fields of one signal; None when a needed one is missing or a known one is wrong."""
    found: dict[str, Any] = {}
    for name, form in rule["fields"].items():
        if name not in value or value[name] is None:
            continue
        if not _fits(value[name], form):
            return None
        found[name] = value[name][:_MAX_TEXT] if form == "text" else value[name]
    return found if all(name in found for name in rule["required"]) else None


def _fits(value: object, form: str | list[str]) -> bool:
    if isinstance(form, list):
        return isinstance(value, str) and value in form
    if form == "flag":
        return isinstance(value, bool)
    if form == "text":
        return isinstance(value, str)
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value <= 1


def signals_by_rule(answer: str, patterns: dict[str, list[str]], *, said_something: bool = True) -> Signals:
    """What phrases tell of an answer, for the signals that did not come with it; one that said nothing may be a question in return."""
    said = spoken(answer)
    found: Signals = {}
    terminal, open_ = holds(said, patterns["terminal"]), holds(said, patterns["exploratory"])
    hedges = count(said, patterns["hedge"])
    if terminal:
        response = "exploratory" if open_ else "terminal"
        found["knowledge_ceiling"] = {"terminal": not open_, "response": response}
    asks_back = not said_something and not open_ and not terminal and answer.rstrip().endswith("?")
    if holds(said, patterns["confused"]) or asks_back:
        found["uncertainty"] = {"type": "conceptual_clarity", "severity": 0.6}
    elif terminal:
        found["uncertainty"] = {"type": "knowledge_gap", "severity": 0.4 if open_ else 0.9}
    elif hedges >= 2:
        found["uncertainty"] = {"type": "confidence_qualification", "severity": min(1.0, hedges / 4)}
    if holds(said, patterns["causal"]):
        found["reasoning"] = {"quality": "causal"}
    if holds(said, patterns["reversal"]):
        found["contradiction"] = {"present": True, "kind": "stance_reversal"}
    intensity = _intensity(said, patterns)
    if intensity != "neutral":
        found["emotional"] = {"intensity": intensity}
    return found


def _intensity(said: str, patterns: dict[str, list[str]]) -> str:
    good, bad = count(said, patterns["positive"]), count(said, patterns["negative"])
    if good == bad:
        return "neutral"
    strong = max(good, bad) >= 2 or holds(said, patterns["intensifier"])
    return ("high_" if strong else "moderate_") + ("positive" if good > bad else "negative")


def sentiment(signals: Signals, table: dict[str, Any]) -> float:
    """The mood of an answer, one of -1, -0.5, 0, 0.5 and 1; 0 without an emotional signal."""
    intensity = signals.get("emotional", {}).get("intensity", "neutral")
    return float(table["sentiment"][intensity])


def wants_to_stop(answer: str, patterns: dict[str, list[str]]) -> bool:
    """Whether an answer says that it is enough and nothing besides; "stop the build when a test fails" is an answer."""
    said = spoken(answer)
    found = False
    for phrase in sorted(patterns["stop"], key=len, reverse=True):
        if " %s " % phrase in said:
            said, found = said.replace(" %s " % phrase, "  "), True
    return found and all(word in patterns["filler"] for word in said.split())


def is_terminal(signals: Signals) -> bool:
    """Whether an answer was that they do not know, and will not; "not sure yet, maybe ..." is none."""
    ceiling = signals.get("knowledge_ceiling", {})
    return bool(ceiling.get("terminal")) and ceiling.get("response", "terminal") == "terminal"
