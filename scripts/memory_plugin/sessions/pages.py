"""The session as a sub-agent reads it: text in pages, since a tool's output is cut off at 30,000 characters."""

from __future__ import annotations

from json import dumps
from typing import TYPE_CHECKING, Any

from ..kernel.judge.question import sealed
from ..kernel.judge.rubric import load_rubric
from .asking import RUBRIC
from .data import load_table
from .material import facts

if TYPE_CHECKING:
    from .asking import Prepared

__all__ = ["agent_tokens", "pages"]


def agent_tokens() -> float:
    """How many tokens a sub-agent is shown at most."""
    return float(load_table("material")["agent_tokens"])


def pages(prepared: Prepared) -> list[str]:
    """The pages: the question first, then task and signals, then the turns; each says which page it is.

    What comes from the session stands as JSON between tags that nothing in it can forge.
    """
    rubric = load_rubric(RUBRIC)
    room = int(load_table("material")["page_characters"])
    first: dict[str, Any] = {"task": prepared.task, "session": facts(prepared.signals)}
    if prepared.left_out:
        first["turns_left_out"] = prepared.left_out
    sheets: list[list[dict[str, Any]]] = [[]]
    taken = len(rubric.system) + len(rubric.closing) + len(dumps(first))
    for part in prepared.parts:
        for turn in part.turns:
            size = len(dumps(turn, ensure_ascii=False)) + 2
            if sheets[-1] and taken + size > room:
                sheets.append([])
                taken = 0
            sheets[-1].append(turn)
            taken += size
    data = [sealed({**first, "turns": sheets[0]}), *(sealed({"turns": turns}) for turns in sheets[1:])]
    texts = ["Page %d of %d\n\n%s" % (at + 1, len(data), text) for at, text in enumerate(data)]
    texts[0] = "%s\n\n%s\n\n%s" % (rubric.system, rubric.closing, texts[0])
    return texts
