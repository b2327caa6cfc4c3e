"""What the user said, and how replies speak: corrections, thanks, claims, pictures, links that lead nowhere."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ..data import pattern

if TYPE_CHECKING:
    from ...kernel.transcript.turn import Turn
    from ..sightings import Note

__all__ = ["People"]

_HEAD = 400  # characters of a prompt in which a correction or thanks are looked for
_MOST_TEXT = 20_000
_MOST_LINKS = 300
_AROUND = 80  # characters of a claim's sentence on both sides
_SENTENCE_ENDS = (". ", "! ", "? ", "\n")


class People:
    """Words of both sides; `folder` is where the session ran, for links, or empty."""

    def __init__(self, folder: str = "") -> None:
        self.folder = folder
        self._spoken = False
        self._checked = 0

    def see(self, turn: Turn, note: Note) -> None:
        """Look at the next turn."""
        for said in turn.said:
            if said.kind == "prompt":
                self._prompt(said.text[:_HEAD], turn.number, note)
        for text in turn.texts:
            self._reply(text[:_MOST_TEXT], turn.number, note)

    def _prompt(self, text: str, turn: int, note: Note) -> None:
        if self._spoken and pattern("correction").match(text):
            note("corrections", turn, text)
        elif self._spoken and pattern("thanks").search(text):
            note("thanks", turn, text)
        self._spoken = True

    def _reply(self, text: str, turn: int, note: Note) -> None:
        claim = pattern("completion").search(text)
        if claim:
            note("completions", turn, _sentence(text, claim.start(), claim.end()))
        if pattern("emoji").search(text):
            note("emoji", turn)
        if self.folder and "](" in text:
            for target in pattern("file_link").findall(text):
                if self._is_broken(target):
                    note("broken_links", turn, target)

    def _is_broken(self, target: str) -> bool:
        """Whether a link names a file that is not there; asks the disk, a bounded number of times."""
        self._checked += 1
        if self._checked > _MOST_LINKS:
            return False
        try:
            return os.path.isdir(self.folder) and not os.path.lexists(os.path.join(self.folder, target))
        except ValueError:
            return True

    def finish(self, note: Note) -> None:
        """Nothing is left for the end."""


def _sentence(text: str, start: int, end: int) -> str:
    """The sentence around a place in a text, or what fits of it."""
    before, after = text[max(0, start - _AROUND) : start], text[end : end + _AROUND]
    begin = max(before.rfind(mark) + len(mark) if mark in before else 0 for mark in _SENTENCE_ENDS)
    stop = min(after.find(mark) + 1 if mark in after else len(after) for mark in _SENTENCE_ENDS)
    return before[begin:] + text[start:end] + after[:stop]
