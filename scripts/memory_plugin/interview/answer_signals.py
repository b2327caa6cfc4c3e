"""The six signals of an answer: from Claude or a judge, each validated separately, or from phrases if one is missing."""

from __future__ import annotations

from .wording import contains_phrase, count_phrases, normalize

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..kernel.context import Context
    from ..kernel.judge.question import Question, Verdict
    from .interview_store import Interview

    SignalValues = dict[str, dict[str, Any]]

__all__ = ["check_signals", "is_terminal", "judge_signals", "sentiment", "signals_by_rule", "wants_to_stop"]

_MAX_TEXT = 300
_RUBRIC = "interview/signals"
_TURNS_SHOWN, _MAX_CHARACTERS = 10, 800  # what a judge is shown


def check_signals(given: object, table: dict[str, Any]) -> tuple[SignalValues, list[str]]:
    """Return the valid signals and the names of the dropped ones; each is validated separately."""
    if not isinstance(given, dict):
        return {}, [] if given is None else ["signals"]
    found: SignalValues = {}
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
    """Return the known fields of one signal; None when a required one is missing or a known one is invalid."""
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


def signals_by_rule(
    answer: str, patterns: dict[str, list[str]], *, said_something: bool = True
) -> SignalValues:
    """Return the signals found by phrases in an answer.

    `said_something` tells whether the answer held a concept: one without any that ends in a question mark asks back.
    """
    said = normalize(answer)
    found: SignalValues = {}
    terminal, open_ = (
        contains_phrase(said, patterns["terminal"]),
        contains_phrase(said, patterns["exploratory"]),
    )
    hedges = count_phrases(said, patterns["hedge"])
    if terminal:
        response = "exploratory" if open_ else "terminal"
        found["knowledge_ceiling"] = {"terminal": not open_, "response": response}
    asks_back = not said_something and not open_ and not terminal and answer.rstrip().endswith("?")
    if contains_phrase(said, patterns["confused"]) or asks_back:
        found["uncertainty"] = {"type": "conceptual_clarity", "severity": 0.6}
    elif terminal:
        found["uncertainty"] = {"type": "knowledge_gap", "severity": 0.4 if open_ else 0.9}
    elif hedges >= 2:
        found["uncertainty"] = {"type": "confidence_qualification", "severity": min(1.0, hedges / 4)}
    if contains_phrase(said, patterns["causal"]):
        found["reasoning"] = {"quality": "causal"}
    if contains_phrase(said, patterns["reversal"]):
        found["contradiction"] = {"present": True, "kind": "stance_reversal"}
    intensity = _intensity(said, patterns)
    if intensity != "neutral":
        found["emotional"] = {"intensity": intensity}
    return found


def _intensity(said: str, patterns: dict[str, list[str]]) -> str:
    good, bad = count_phrases(said, patterns["positive"]), count_phrases(said, patterns["negative"])
    if good == bad:
        return "neutral"
    strong = max(good, bad) >= 2 or contains_phrase(said, patterns["intensifier"])
    return ("high_" if strong else "moderate_") + ("positive" if good > bad else "negative")


def sentiment(signals: SignalValues, table: dict[str, Any]) -> float:
    """Return the sentiment of an answer: -1, -0.5, 0, 0.5 or 1; 0 without an emotional signal."""
    intensity = signals.get("emotional", {}).get("intensity", "neutral")
    return float(table["sentiment"][intensity])


def wants_to_stop(answer: str, patterns: dict[str, list[str]]) -> bool:
    """Return whether an answer only asks to stop; "stop the build when a test fails" is an answer."""
    said = normalize(answer)
    found = False
    for phrase in sorted(patterns["stop"], key=len, reverse=True):
        if " %s " % phrase in said:
            said, found = said.replace(" %s " % phrase, "  "), True
    return found and all(word in patterns["filler"] for word in said.split())


def is_terminal(signals: SignalValues) -> bool:
    """Return whether the user does not know and has no more to say; "not sure yet, maybe ..." is not terminal."""
    ceiling = signals.get("knowledge_ceiling", {})
    return bool(ceiling.get("terminal")) and ceiling.get("response", "terminal") == "terminal"


def judge_signals(interview: Interview, answer: str, context: Context) -> Verdict:
    """Ask a judge for the signals of an answer; `values["signals"]` of the verdict holds them.

    The caller has checked that the user wants a judge and that the project may have one.
    """
    from ..kernel.judge.asking import judge_for  # the network is imported only when a judge is asked

    judge = judge_for("interview", context)
    seconds = context.settings.integer("interview.judge.timeout_ms") / 1000
    return judge.ask(_judge_question(interview, answer), context.deadline.within(seconds))


def _judge_question(interview: Interview, answer: str) -> Question:
    from ..kernel.judge.excerpts import excerpt
    from ..kernel.judge.question import Question, load_rubric

    turns = [
        {name: excerpt(turn[name], _MAX_CHARACTERS) for name in ("question", "answer")}
        for turn in interview.state["turns"][-_TURNS_SHOWN:]
    ]
    asked = interview.question or (interview.state["next"] or {}).get("probe", "")
    data = {
        "before": turns,
        "question": excerpt(asked, _MAX_CHARACTERS),
        "answer": excerpt(answer, _MAX_CHARACTERS),
    }
    return Question(load_rubric(_RUBRIC), data, lambda value: _valid(value, interview.setup["signals"]))


def _valid(value: dict[str, Any], table: dict[str, Any]) -> dict[str, Any] | None:
    """Return the valid signals of a reply, none where it says null to what it names; None when it holds none in any form."""
    found, dropped = check_signals(value, table)
    says_none = not dropped and any(name in table["signals"] for name in value)
    return {"signals": found} if found or says_none else None
