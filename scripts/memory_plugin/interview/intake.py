"""What Claude hands over with an answer, taken apart and checked: concepts, relations, signals, what was covered.

Whatever is wrong is dropped and named; the rest counts. Nothing here trusts a length, a type or a number.
"""

from __future__ import annotations

from ..kernel.native import loads
from .errors import BadInput
from .lines import is_lines, read_answer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable

    Clean = Callable[[str, int], str]

__all__ = ["MAX_ANSWER", "intake", "parsed"]

MAX_ANSWER = 20_000
MAX_CONCEPTS, MAX_RELATIONS, MAX_COVERED = 60, 120, 200
_LABEL, _QUOTE, _QUESTION, _ID = 120, 400, 500, 60
_STANCES = (-1, 0, 1)
_CONFIDENCE = 0.8
_FIELDS = ("answer", "question", "concepts", "relations", "signals", "covered", "wish")
_WISHES = ("", "stop", "skip", "deeper")


def parsed(text: str) -> dict[str, Any]:
    """The answer on standard input, as JSON, as lines with names, or as the bare text. Raises BadInput."""
    if is_lines(text):
        return read_answer(text)
    if not text.lstrip().startswith("{"):
        return {"answer": text}
    try:
        data = loads(text)
    except ValueError:
        raise BadInput("standard input: expected JSON, or the answer as plain text") from None
    assert isinstance(data, dict)
    unknown = [name for name in data if name not in _FIELDS]
    if unknown:
        raise BadInput("unknown field %r, expected only %s" % (unknown[0][:40], ", ".join(_FIELDS)))
    return data


def intake(data: dict[str, Any], setup: dict[str, Any], clean: Clean) -> tuple[dict[str, Any], list[str]]:
    """What of the input counts, and what was dropped, in words. Raises BadInput when there is neither an answer nor a wish.

    `clean` makes a text fit to be stored: secrets and private passages gone, one line, so many characters at most.
    """
    dropped: list[str] = []
    answer, wish = data.get("answer", ""), data.get("wish", "")
    if wish not in _WISHES:
        raise BadInput("wish: expected one of stop, skip, deeper, got %r" % (wish,))
    if not isinstance(answer, str) or not (answer.strip() or wish):
        raise BadInput("answer: expected a text, got %s" % ("nothing" if answer == "" else repr(answer)[:40]))
    question = data.get("question", "")
    found = {
        "answer": clean(answer, MAX_ANSWER),
        "question": clean(question, _QUESTION) if isinstance(question, str) else "",
        "concepts": _concepts(_list(data, "concepts", MAX_CONCEPTS, dropped), setup, clean, dropped),
        "signals": data.get("signals"),
        "covered": _covered(_list(data, "covered", MAX_COVERED, dropped), setup, dropped),
        "wish": wish,
    }
    found["relations"] = _relations(_list(data, "relations", MAX_RELATIONS, dropped), clean, dropped)
    return found, dropped


def _list(data: dict[str, Any], name: str, most: int, dropped: list[str]) -> list[Any]:
    value = data.get(name)
    if value is None:
        return []
    if not isinstance(value, list):
        dropped.append("%s: expected a list" % name)
        return []
    if len(value) > most:
        dropped.append("%s: %d, at most %d are read" % (name, len(value), most))
    return value[:most]


def _concepts(
    given: list[Any], setup: dict[str, Any], clean: Clean, dropped: list[str]
) -> list[dict[str, Any]]:
    types = [entry["id"] for entry in setup["pack"]["types"]]
    found = []
    for at, entry in enumerate(given):
        why = _wrong(entry, types)
        if why:
            dropped.append("concepts.%d: %s" % (at, why))
            continue
        label = clean(entry["text"], _LABEL)
        if label:
            found.append(_concept(entry, label, clean))
    return found


def _wrong(entry: object, types: list[str]) -> str:
    if not isinstance(entry, dict) or not isinstance(entry.get("text"), str) or not entry["text"].strip():
        return "expected an object with a text"
    if entry.get("type") not in types:
        return "type: expected one of %s, got %r" % (", ".join(types), str(entry.get("type"))[:40])
    stance = entry.get("stance", 0)
    if isinstance(stance, (bool, float)) or stance not in _STANCES:
        return "stance: expected -1, 0 or 1"
    return "" if _is_share(entry.get("confidence", _CONFIDENCE)) else "confidence: expected 0 to 1"


def _is_share(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value <= 1


def _concept(entry: dict[str, Any], label: str, clean: Clean) -> dict[str, Any]:
    aliases = entry.get("aliases")
    texts = (
        [clean(one, _LABEL) for one in aliases[:8] if isinstance(one, str)]
        if isinstance(aliases, list)
        else []
    )
    quote, revises = entry.get("quote", ""), entry.get("revises", "")
    return {
        "text": label,
        "type": entry["type"],
        "stance": entry.get("stance", 0),
        "confidence": entry.get("confidence", _CONFIDENCE),
        "quote": clean(quote, _QUOTE) if isinstance(quote, str) else "",
        "aliases": [text for text in texts if text],
        "revises": clean(revises, _LABEL) if isinstance(revises, str) else "",
    }


def _relations(given: list[Any], clean: Clean, dropped: list[str]) -> list[list[str]]:
    found = []
    for at, entry in enumerate(given):
        ends = [entry.get("source"), entry.get("target")] if isinstance(entry, dict) else []
        if len(ends) == 2 and all(isinstance(end, str) and end.strip() for end in ends):
            found.append([clean(str(end), _LABEL) for end in ends])
        else:
            dropped.append("relations.%d: expected an object with a source and a target" % at)
    return found


def _covered(given: list[Any], setup: dict[str, Any], dropped: list[str]) -> list[str]:
    known = {element["id"] for element in setup["elements"]}
    unknown = [name for name in given if not isinstance(name, str) or name not in known]
    dropped += ["covered: no element %r" % str(name)[:_ID] for name in unknown]
    return [name for name in given if isinstance(name, str) and name in known]
