"""Grants: for a few minutes after a request of the user's own, Claude may save or accept something in this session.

A page that Claude reads can ask it to remember something.  So what Claude stores unasked waits for the user, and only a prompt that the
user typed leaves a grant.  This raises the bar; it is no wall, since Claude runs with the user's rights.
"""

from __future__ import annotations

import os

from ..kernel.clock import now
from ..kernel.fastjson import digest, dumps, loads
from ..kernel.files import Unreadable, make_folder, read_regular, replace_file
from ..kernel.paths import data_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..kernel.paths import Places

__all__ = ["SECONDS", "asks_to_remember", "grant", "is_granted"]

SECONDS = 600.0
_MAX_BYTES = 4096
_LOOKED_AT = 600
_LONG = 20_000
_BEFORE = 60
_FENCES = ("```", "~~~")
_INDENTED = ("    ", "\t")


def asks_to_remember(prompt: str) -> bool:
    """Return whether a typed prompt is a `/memory:` command or wishes something to be remembered.

    Only the prompt's own beginning and end count, and no quoted, fenced or indented line: a pasted page must not speak for the user.
    """
    text = prompt.strip()
    if text.startswith("/memory:"):
        return True
    head, tail = _ends(text)
    near = _spoken(head)[:_LOOKED_AT] + " \n " + _spoken(tail)[-_LOOKED_AT:]
    wishes = _wishes()
    words = set(wishes["unless_after"])
    phrases = [phrase for of_language in wishes["phrases"].values() for phrase in of_language]
    return any(_is_said(phrase, near, words) for phrase in phrases)


def _is_said(phrase: str, text: str, negations: set[str]) -> bool:
    """Return whether a phrase occurs in a text at least once without a negation before it."""
    at = text.find(phrase)
    while at >= 0:
        clause = text[max(0, at - _BEFORE) : at]
        for mark in ".,;:!?":
            clause = clause.rpartition(mark)[2]
        if negations.isdisjoint(clause.split()[-3:]):
            return True
        at = text.find(phrase, at + 1)
    return False


def _ends(text: str) -> tuple[str, str]:
    """Return the beginning and the end of a prompt; of a very long one no end that a fence further up could reach into."""
    if len(text) <= _LONG:
        return text, text
    fenced = any(mark in text[:-_LONG] for mark in _FENCES)
    return text[:_LONG], "" if fenced else text[-_LONG:]


def _spoken(text: str) -> str:
    """Return what of a text the user says themselves, in lower case and on one line."""
    return " ".join(" ".join(_own_lines(text)).lower().replace("\u2019", "'").split())


def _own_lines(text: str) -> list[str]:
    kept, fenced = [], False
    for line in text.splitlines():
        if line.lstrip().startswith(_FENCES):
            fenced = not fenced
        elif not fenced and not line.lstrip().startswith(">") and not line.startswith(_INDENTED):
            kept.append(line)
    return kept


def _wishes() -> dict[str, Any]:
    with open(data_path("memories", "wishes.json"), encoding="utf-8") as handle:
        table = loads(handle.read())
    assert isinstance(table, dict)
    return table


def _path(places: Places, session: str) -> str:
    return places.state("grants", digest(session.encode("utf-8", "replace"), 8) + ".json")


def grant(places: Places, session: str) -> None:
    """Leave a grant for a session and its project. Raises OSError."""
    path = _path(places, session)
    make_folder(os.path.dirname(path))
    replace_file(
        path, dumps({"project": places.project_key, "until": now() + SECONDS}).encode("ascii"), durable=False
    )


def is_granted(places: Places, session: str) -> bool:
    """Return whether a grant for this session and project still holds."""
    try:
        data = loads(read_regular(_path(places, session), _MAX_BYTES)[0].decode("ascii"))
    except (FileNotFoundError, Unreadable, ValueError):
        return False
    if not isinstance(data, dict) or data.get("project") != places.project_key:
        return False
    until = data.get("until")
    return isinstance(until, float) and now() <= until <= now() + SECONDS
