"""Grants: the user's own word, left for a few minutes, that Claude may store or accept something in this session.

A page that Claude reads can ask it to remember something.  So what Claude stores unasked waits for the user, and only a prompt that the
user typed leaves a grant.  This raises the bar; it is no wall, since Claude runs with the user's rights.
"""

from __future__ import annotations

import os

from ..kernel.clock import now
from ..kernel.files import Unreadable, make_folder, read_regular, replace_file
from ..kernel.native import digest, dumps, loads
from ..kernel.paths import data_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..kernel.paths import Places

__all__ = ["SECONDS", "asks_to_remember", "grant", "is_granted"]

SECONDS = 600.0
_MAX_BYTES = 4096
_LOOKED_AT = 600
_LONG = 20_000
_FENCES = ("```", "~~~")


def asks_to_remember(prompt: str) -> bool:
    """Whether a typed prompt is a `/memory:` command or wishes something to be remembered.

    Only the prompt's own beginning and end count, and no line that is quoted or fenced: a pasted page must not speak for the user.
    """
    text = prompt.strip()
    if text.startswith("/memory:"):
        return True
    head, tail = _ends(text)
    near = _spoken(head)[:_LOOKED_AT] + " \n " + _spoken(tail)[-_LOOKED_AT:]
    return any(phrase in near for phrase in _phrases())


def _ends(text: str) -> tuple[str, str]:
    """The beginning and the end of a prompt; of a very long one no end that a fence further up could reach into."""
    if len(text) <= _LONG:
        return text, text
    fenced = any(mark in text[:-_LONG] for mark in _FENCES)
    return text[:_LONG], "" if fenced else text[-_LONG:]


def _spoken(text: str) -> str:
    """What of a text the user says themselves, in lower case and on one line."""
    return " ".join(" ".join(_own_lines(text)).lower().replace("\u2019", "'").split())


def _own_lines(text: str) -> list[str]:
    kept, fenced = [], False
    for line in text.splitlines():
        if line.lstrip().startswith(_FENCES):
            fenced = not fenced
        elif not fenced and not line.lstrip().startswith(">"):
            kept.append(line)
    return kept


def _phrases() -> list[str]:
    with open(data_path("memories", "wishes.json"), encoding="utf-8") as handle:
        table = loads(handle.read())
    assert isinstance(table, dict)
    return [phrase for phrases in table["phrases"].values() for phrase in phrases]


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
    """Whether a grant for this session and project still holds."""
    try:
        data = loads(read_regular(_path(places, session), _MAX_BYTES)[0].decode("ascii"))
    except (FileNotFoundError, Unreadable, ValueError):
        return False
    if not isinstance(data, dict) or data.get("project") != places.project_key:
        return False
    until = data.get("until")
    return isinstance(until, float) and now() <= until <= now() + SECONDS
