"""Determine the six signals of an answer: validate those from Claude or a judge, and find the missing ones by phrases."""

from __future__ import annotations

from .wording import contains_phrase, count_phrases, normalize

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..kernel.context import Context
    from ..kernel.judge.question import Question, Verdict
    from .interview_store import Interview

    SignalValues = dict[str, dict[str, Any]]

_MAX_TEXT = 300
_RUBRIC = "interview/signals"
_JUDGE_SECONDS = 3.0
_MAX_TURNS, _MAX_CHARACTERS = 10, 800  # of the excerpt for a judge


def check_signals(data: object, table: dict[str, Any]) -> tuple[SignalValues, list[str]]:
    """Return the valid signals and the names of the invalid ones; each is validated separately."""
    if not isinstance(data, dict):
        return {}, [] if data is None else ["signals"]
    valid: SignalValues = {}
    invalid: list[str] = []
    for name, value in data.items():
        if value is None:  # a judge whose schema requires every key sends null for "no such signal"
            continue
        rule = table["signals"].get(name)
        fields = _valid_fields(value, rule) if rule is not None and isinstance(value, dict) else None
        if fields is None:
            invalid.append(str(name)[:40])
        else:
            valid[name] = fields
    return valid, invalid


def _valid_fields(value: dict[str, Any], rule: dict[str, Any]) -> dict[str, Any] | None:
    """Return the known fields of one signal; None if a required one is missing or a known one is invalid."""
    fields: dict[str, Any] = {}
    for name, form in rule["fields"].items():
        if value.get(name) is None:
            continue
        if not _has_form(value[name], form):
            return None
        fields[name] = value[name][:_MAX_TEXT] if form == "text" else value[name]
    return fields if all(name in fields for name in rule["required"]) else None


def _has_form(value: object, form: str | list[str]) -> bool:
    """Return whether a value is one of the listed texts, or a flag, a text, or a share (0 to 1)."""
    if isinstance(form, list):
        return isinstance(value, str) and value in form
    if form == "flag":
        return isinstance(value, bool)
    if form == "text":
        return isinstance(value, str)
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value <= 1


def signals_by_rule(
    answer: str, patterns: dict[str, list[str]], *, has_concepts: bool = True
) -> SignalValues:
    """Return the signals found by phrases in an answer.

    An answer without concepts that ends in a question mark is a question in return.
    """
    text = normalize(answer)
    signals: SignalValues = {}
    is_terminal_phrase = contains_phrase(text, patterns["terminal"])
    is_exploratory = contains_phrase(text, patterns["exploratory"])
    hedges = count_phrases(text, patterns["hedge"])
    if is_terminal_phrase:
        response = "exploratory" if is_exploratory else "terminal"
        signals["knowledge_ceiling"] = {"terminal": not is_exploratory, "response": response}
    is_plain = not has_concepts and not is_exploratory and not is_terminal_phrase
    asks_back = is_plain and answer.rstrip().endswith("?")
    if contains_phrase(text, patterns["confused"]) or asks_back:
        signals["uncertainty"] = {"type": "conceptual_clarity", "severity": 0.6}
    elif is_terminal_phrase:
        signals["uncertainty"] = {"type": "knowledge_gap", "severity": 0.4 if is_exploratory else 0.9}
    elif hedges >= 2:
        signals["uncertainty"] = {"type": "confidence_qualification", "severity": min(1.0, hedges / 4)}
    if contains_phrase(text, patterns["causal"]):
        signals["reasoning"] = {"quality": "causal"}
    if contains_phrase(text, patterns["reversal"]):
        signals["contradiction"] = {"present": True, "kind": "stance_reversal"}
    intensity = _intensity(text, patterns)
    if intensity != "neutral":
        signals["emotional"] = {"intensity": intensity}
    return signals


def _intensity(text: str, patterns: dict[str, list[str]]) -> str:
    positive, negative = count_phrases(text, patterns["positive"]), count_phrases(text, patterns["negative"])
    if positive == negative:
        return "neutral"
    is_strong = max(positive, negative) >= 2 or contains_phrase(text, patterns["intensifier"])
    return ("high_" if is_strong else "moderate_") + ("positive" if positive > negative else "negative")


def sentiment(signals: SignalValues, table: dict[str, Any]) -> float:
    """Return the sentiment of an answer: -1, -0.5, 0, 0.5 or 1; 0 without an emotional signal."""
    intensity = signals.get("emotional", {}).get("intensity", "neutral")
    return float(table["sentiment"][intensity])


def wants_to_stop(answer: str, patterns: dict[str, list[str]]) -> bool:
    """Return whether an answer only asks to stop, unlike "stop the build when a test fails"."""
    text = normalize(answer)
    has_phrase = False
    # The longest phrase first, because removing "stop" alone would leave the rest of "let's stop here".
    for phrase in sorted(patterns["stop"], key=len, reverse=True):
        if " %s " % phrase in text:
            text, has_phrase = text.replace(" %s " % phrase, "  "), True
    return has_phrase and all(word in patterns["filler"] for word in text.split())


def is_terminal(signals: SignalValues) -> bool:
    """Return whether the user does not know and has no more to say, unlike "not sure yet, maybe ..."."""
    ceiling = signals.get("knowledge_ceiling", {})
    return bool(ceiling.get("terminal")) and ceiling.get("response", "terminal") == "terminal"


def judge_signals(interview: Interview, answer: str, context: Context) -> Verdict:
    """Ask a judge for the signals of an answer; they are in the verdict's `values["signals"]`.

    The caller has checked that a judge is configured and that the project may use one.
    """
    from ..kernel.judge.asking import judge_for  # imports the network

    judge = judge_for("interview", context)
    return judge.ask(_judge_question(interview, answer), context.deadline.within(_JUDGE_SECONDS))


def _judge_question(interview: Interview, answer: str) -> Question:
    from ..kernel.judge.excerpts import excerpt
    from ..kernel.judge.question import Question, load_rubric

    turns = [
        {name: excerpt(turn[name], _MAX_CHARACTERS) for name in ("question", "answer")}
        for turn in interview.state["turns"][-_MAX_TURNS:]
    ]
    question = interview.question or (interview.state["next"] or {}).get("probe", "")
    data = {
        "before": turns,
        "question": excerpt(question, _MAX_CHARACTERS),
        "answer": excerpt(answer, _MAX_CHARACTERS),
    }
    return Question(load_rubric(_RUBRIC), data, lambda value: read_signals(value, interview.setup["signals"]))


def read_signals(reply: dict[str, Any], table: dict[str, Any]) -> dict[str, Any] | None:
    """Return the valid signals of a judge's reply, possibly an empty object; None for a reply that is not about signals.

    If the reply names signals and all are null, the answer has none.
    """
    valid, invalid = check_signals(reply, table)
    has_none = not invalid and any(name in table["signals"] for name in reply)
    return {"signals": valid} if valid or has_none else None
