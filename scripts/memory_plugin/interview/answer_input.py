"""Parse and validate the input that Claude passes with an answer, as plain lines or JSON.

Lines have the form `name: value`. They avoid the client's permission prompt, which it shows for commands that contain JSON. A line without
a known name continues the value above it.

    question: as it was asked               memory: n1
    answer: as it was given                 title: what it says
    concept: type | text | stance | confidence | quote
    relation: one concept | what it leads to
    signal: uncertainty | type=knowledge_gap | severity=0.8
    covered: element, element
    wish: skip

An invalid part is dropped and reported; the rest is used. No length, type or number is trusted.
"""

from __future__ import annotations

from ..kernel.fastjson import loads
from .exceptions import InvalidAnswer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable

    Clean = Callable[[str, int], str]

_MAX_ANSWER, _MAX_LABEL, _MAX_QUOTE, _MAX_QUESTION, _MAX_ID = 20_000, 120, 400, 500, 60
_MAX_CONCEPTS, _MAX_RELATIONS, _MAX_COVERED, _MAX_ALIASES = 60, 120, 200, 8
_STANCES = {"-1": -1, "-": -1, "0": 0, "": 0, "1": 1, "+1": 1, "+": 1}
_DEFAULT_CONFIDENCE = 0.8
_FLAGS = {"true": True, "false": False}
_FIELDS = ("answer", "question", "concepts", "relations", "signals", "covered", "wish")
_WISHES = ("", "stop", "skip", "deeper")
_ANSWER_LINES = ("question", "answer", "concept", "relation", "signal", "covered", "wish")
_MEMORY_LINES = ("memory", "category", "title", "body", "context", "tags", "asked_as")


def decode_answer(text: str) -> dict[str, Any]:
    """Return the fields of an answer in lines, a JSON object, or as the bare text. Raises InvalidAnswer."""
    if _is_lines(text):
        return _answer_from_lines(text)
    if not text.lstrip().startswith("{"):
        return {"answer": text}
    try:
        data = loads(text)
    except ValueError:
        raise InvalidAnswer("standard input: expected JSON, or the answer as plain text") from None
    assert isinstance(data, dict)  # JSON text that begins with a brace
    unknown = [name for name in data if name not in _FIELDS]
    if unknown:
        raise InvalidAnswer("unknown field %r, expected only %s" % (unknown[0][:40], ", ".join(_FIELDS)))
    return data


def decode_memories(text: str) -> list[Any]:
    """Return the memories in lines or JSON, not yet validated. Raises InvalidAnswer for any other form."""
    if _is_lines(text):
        return _memories_from_lines(text)
    try:
        data = loads(text)
    except ValueError:
        data = None
    memories = data.get("memories") if isinstance(data, dict) else None
    if not isinstance(memories, list):
        raise InvalidAnswer('standard input: expected {"memories": [...]} or lines that begin with `memory:`')
    return memories


def _is_lines(text: str) -> bool:
    return _line_name(text.lstrip().partition("\n")[0], (*_ANSWER_LINES, *_MEMORY_LINES)) != ""


def _line_name(line: str, names: tuple[str, ...]) -> str:
    """Return the known name that a line begins with, or ""."""
    name, colon, _ = line.partition(":")
    name = name.strip().lower()
    return name if colon and name in names else ""


def _named_values(text: str, names: tuple[str, ...]) -> list[tuple[str, str]]:
    """Return the names and values of lines; text before the first known name is ignored."""
    pairs: list[tuple[str, str]] = []
    for line in text.strip().splitlines():
        name = _line_name(line, names)
        if name:
            pairs.append((name, line.partition(":")[2].strip()))
        elif pairs:
            name, value = pairs[-1]
            pairs[-1] = (name, "%s\n%s" % (value, line.strip()))
    return pairs


def _answer_from_lines(text: str) -> dict[str, Any]:
    """Convert an answer in lines to its JSON object."""
    data: dict[str, Any] = {}
    for name, value in _named_values(text, _ANSWER_LINES):
        if name == "covered":
            data["covered"] = [part.strip() for part in value.split(",") if part.strip()]
        elif name == "signal":
            data.setdefault("signals", {}).update(_signal_from_line(value))
        elif name == "concept":
            data.setdefault("concepts", []).append(_concept_from_line(value))
        elif name == "relation":
            source, target = _columns(value, 2)
            data.setdefault("relations", []).append({"source": source, "target": target})
        else:
            data[name] = value
    return data


def _columns(value: str, count: int) -> list[str]:
    """Return exactly `count` columns of a value separated by `|`; missing ones are empty."""
    return ([part.strip() for part in value.split("|")] + [""] * count)[:count]


def _concept_from_line(line: str) -> dict[str, Any]:
    kind, text, stance, confidence, quote = _columns(line, 5)
    concept: dict[str, Any] = {
        "type": kind,
        "text": text,
        "stance": _STANCES.get(stance, stance),
        "quote": quote,
    }
    if confidence:
        concept["confidence"] = _number_or_text(confidence)
    return concept


def _signal_from_line(line: str) -> dict[str, Any]:
    name, *pairs = (part.strip() for part in line.split("|"))
    fields: dict[str, Any] = {}
    for pair in pairs:
        key, _, value = (part.strip() for part in pair.partition("="))
        fields[key] = _FLAGS.get(value, _number_or_text(value))
    return {name: fields}


def _number_or_text(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


def _memories_from_lines(text: str) -> list[dict[str, Any]]:
    memories: list[dict[str, Any]] = []
    for name, value in _named_values(text, _MEMORY_LINES):
        if name == "memory":
            memories.append({"concept": value})
        elif not memories:
            raise InvalidAnswer("standard input: expected `memory: CONCEPT` before `%s:`" % name)
        elif name in ("tags", "asked_as"):
            memories[-1][name] = [part.strip() for part in value.split(";")]
        else:
            memories[-1][name] = value
    return memories


def parse_answer(
    data: dict[str, Any], setup: dict[str, Any], clean: Clean
) -> tuple[dict[str, Any], list[str]]:
    """Return the valid parts of an answer, and descriptions of the dropped ones.

    `clean(text, limit)` prepares a text for storage: without secrets and private passages, on one line, cut to `limit` characters.
    Raises InvalidAnswer without an answer or a wish.
    """
    dropped: list[str] = []
    answer, wish, question = data.get("answer", ""), data.get("wish", ""), data.get("question", "")
    if wish not in _WISHES:
        raise InvalidAnswer("wish: expected one of stop, skip, deeper, got %r" % (wish,))
    if not isinstance(answer, str) or not (answer.strip() or wish):
        got = "nothing" if answer == "" else repr(answer)[:40]
        raise InvalidAnswer("answer: expected a text, got %s" % got)
    return {
        "answer": clean(answer, _MAX_ANSWER),
        "question": clean(question, _MAX_QUESTION) if isinstance(question, str) else "",
        "concepts": _concepts(_limited(data, "concepts", _MAX_CONCEPTS, dropped), setup, clean, dropped),
        "signals": data.get("signals"),
        "covered": _covered(_limited(data, "covered", _MAX_COVERED, dropped), setup, dropped),
        "wish": wish,
        "relations": _relations(_limited(data, "relations", _MAX_RELATIONS, dropped), clean, dropped),
    }, dropped


def _limited(data: dict[str, Any], name: str, limit: int, dropped: list[str]) -> list[Any]:
    value = data.get(name)
    if value is None:
        return []
    if not isinstance(value, list):
        dropped.append("%s: expected a list" % name)
        return []
    if len(value) > limit:
        dropped.append("%s: only the first %d of %d are used" % (name, limit, len(value)))
    return value[:limit]


def _concepts(
    entries: list[Any], setup: dict[str, Any], clean: Clean, dropped: list[str]
) -> list[dict[str, Any]]:
    types = [entry["id"] for entry in setup["pack"]["types"]]
    concepts = []
    for number, entry in enumerate(entries):
        try:
            concept = _concept(entry, types, clean)
        except InvalidAnswer as error:
            dropped.append("concepts.%d: %s" % (number, error))
            continue
        if concept["text"]:  # empty if all of it was private
            concepts.append(concept)
    return concepts


def _concept(entry: object, types: list[str], clean: Clean) -> dict[str, Any]:
    """Return a concept with its texts cleaned. Raises InvalidAnswer for the first invalid field."""
    if not isinstance(entry, dict) or not isinstance(entry.get("text"), str) or not entry["text"].strip():
        raise InvalidAnswer("expected an object with a `text`")
    if entry.get("type") not in types:
        raise InvalidAnswer(
            "type: expected one of %s, got %r" % (", ".join(types), str(entry.get("type"))[:40])
        )
    stance, confidence = entry.get("stance", 0), entry.get("confidence", _DEFAULT_CONFIDENCE)
    if isinstance(stance, (bool, float)) or stance not in (-1, 0, 1):
        raise InvalidAnswer("stance: expected -1, 0 or 1")
    if isinstance(confidence, bool) or not isinstance(confidence, (int, float)) or not 0 <= confidence <= 1:
        raise InvalidAnswer("confidence: expected 0 to 1")
    aliases = entry.get("aliases")
    aliases = aliases if isinstance(aliases, list) else []
    cleaned = [clean(alias, _MAX_LABEL) for alias in aliases[:_MAX_ALIASES] if isinstance(alias, str)]
    quote, revises = entry.get("quote", ""), entry.get("revises", "")
    return {
        "text": clean(entry["text"], _MAX_LABEL),
        "type": entry["type"],
        "stance": stance,
        "confidence": confidence,
        "quote": clean(quote, _MAX_QUOTE) if isinstance(quote, str) else "",
        "aliases": [alias for alias in cleaned if alias],
        "revises": clean(revises, _MAX_LABEL) if isinstance(revises, str) else "",
    }


def _relations(entries: list[Any], clean: Clean, dropped: list[str]) -> list[list[str]]:
    relations = []
    for number, entry in enumerate(entries):
        ends = [entry.get("source"), entry.get("target")] if isinstance(entry, dict) else [None]
        if all(isinstance(end, str) and end.strip() for end in ends):
            relations.append([clean(str(end), _MAX_LABEL) for end in ends])
        else:
            dropped.append("relations.%d: expected an object with a source and a target" % number)
    return relations


def _covered(names: list[Any], setup: dict[str, Any], dropped: list[str]) -> list[str]:
    elements = {element["id"] for element in setup["elements"]}
    covered = []
    for name in names:
        if isinstance(name, str) and name in elements:
            covered.append(name)
        else:
            dropped.append("covered: unknown element %r" % str(name)[:_MAX_ID])
    return covered
