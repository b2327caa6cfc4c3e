"""Answers and memories as plain lines, `name: value`: the client asks the user about commands that hold JSON, and not about these.

    question: as it was asked               memory: n1
    answer: as it was given                 title: what it says
    concept: type | text | stance | confidence | quote
    relation: one concept | what it leads to
    signal: uncertainty | type=knowledge_gap | severity=0.8
    covered: element, element
    wish: skip

A line without a known name goes on with the value above it.
"""

from __future__ import annotations

from .errors import BadInput

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["is_lines", "read_answer", "read_memories"]

_ANSWER = ("question", "answer", "concept", "relation", "signal", "covered", "wish")
_MEMORY = ("memory", "category", "title", "body", "context", "tags", "asked_as")
_STANCES = {"-1": -1, "-": -1, "0": 0, "": 0, "1": 1, "+1": 1, "+": 1}
_FLAGS = {"true": True, "false": False}


def is_lines(text: str) -> bool:
    """Whether a text is in this form: its first line begins with a known name."""
    return _name(text.lstrip().partition("\n")[0], (*_ANSWER, *_MEMORY)) != ""


def _name(line: str, names: tuple[str, ...]) -> str:
    found = line.partition(":")[0].strip().lower() if ":" in line else ""
    return found if found in names else ""


def _pairs(text: str, names: tuple[str, ...]) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for line in text.strip().splitlines():
        name = _name(line, names)
        if name:
            found.append((name, line.partition(":")[2].strip()))
        elif found:
            found[-1] = (found[-1][0], "%s\n%s" % (found[-1][1], line.strip()))
    return found


def read_answer(text: str) -> dict[str, Any]:
    """The same object that JSON would give; what is in it is checked where it is used."""
    data: dict[str, Any] = {}
    for name, value in _pairs(text, _ANSWER):
        if name in ("question", "answer", "wish"):
            data[name] = value
        elif name == "covered":
            data["covered"] = [part.strip() for part in value.split(",") if part.strip()]
        elif name == "signal":
            data.setdefault("signals", {}).update(_signal(value))
        else:
            reader = _concept if name == "concept" else _relation
            data.setdefault(name + "s", []).append(reader([part.strip() for part in value.split("|")]))
    return data


def _concept(parts: list[str]) -> dict[str, Any]:
    kind, text, stance, confidence, quote = [*parts, "", "", "", "", ""][:5]
    found: dict[str, Any] = {
        "type": kind,
        "text": text,
        "stance": _STANCES.get(stance, stance),
        "quote": quote,
    }
    if confidence:
        found["confidence"] = _number(confidence)
    return found


def _relation(parts: list[str]) -> dict[str, Any]:
    source, target = [*parts, "", ""][:2]
    return {"source": source, "target": target}


def _signal(value: str) -> dict[str, Any]:
    name, *fields = (part.strip() for part in value.split("|"))
    pairs = [field.partition("=") for field in fields]
    return {name: {key.strip(): _FLAGS.get(said.strip(), _number(said.strip())) for key, _, said in pairs}}


def _number(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


def read_memories(text: str) -> list[dict[str, Any]]:
    """The memories that are to be written: concept, and what is to be said otherwise. Raises BadInput."""
    found: list[dict[str, Any]] = []
    for name, value in _pairs(text, _MEMORY):
        if name == "memory":
            found.append({"concept": value})
        elif not found:
            raise BadInput("standard input: expected `memory: CONCEPT` before `%s:`" % name)
        else:
            found[-1][name] = (
                [part.strip() for part in value.split(";")] if name in ("tags", "asked_as") else value
            )
    return found
