"""Detect corrections and thanks by the user, and claims of completion, emoji and broken links in replies."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ..detection import Detector, pattern

if TYPE_CHECKING:
    from ...kernel.transcript.turn import Turn
    from ..detection import ReportSignal

__all__ = ["PeopleDetector"]

_HEAD = 400  # characters of a prompt in which a correction or thanks are looked for
_MAX_TEXT = 20_000
_MAX_LINKS = 300
_AROUND = 80  # characters of a claim's sentence on both sides
_SENTENCE_ENDS = (". ", "! ", "? ", "\n")


class PeopleDetector(Detector):
    """Detects signals in prompts and replies; `folder` is where the session ran, for resolving links, or empty."""

    def __init__(self, folder: str = "") -> None:
        self.folder = folder
        self._spoken = False
        self._checked = 0

    def observe(self, turn: Turn, report: ReportSignal) -> None:
        """Look at the next turn."""
        for entry in turn.user_texts:
            if entry.kind == "prompt":
                self._prompt(entry.text[:_HEAD], turn.number, report)
        for text in turn.texts:
            self._reply(text[:_MAX_TEXT], turn.number, report)

    def _prompt(self, text: str, turn: int, report: ReportSignal) -> None:
        if self._spoken and _is_correction(text):
            report("corrections", turn, text)
        elif self._spoken and pattern("thanks").search(text):
            report("thanks", turn, text)
        self._spoken = True

    def _reply(self, text: str, turn: int, report: ReportSignal) -> None:
        claim = pattern("completion").search(text)
        if claim:
            report("completions", turn, _sentence(text, claim.start(), claim.end()))
        if pattern("emoji").search(text):
            report("emoji", turn)
        if self.folder and "](" in text:
            for target in pattern("file_link").findall(text):
                if self._is_broken(target):
                    report("broken_links", turn, target)

    def _is_broken(self, target: str) -> bool:
        """Return whether a link names a file that does not exist; looks at the disk a limited number of times."""
        self._checked += 1
        if self._checked > _MAX_LINKS:
            return False
        try:
            return os.path.isdir(self.folder) and not os.path.lexists(os.path.join(self.folder, target))
        except ValueError:
            return True


def _sentence(text: str, start: int, end: int) -> str:
    """Return the sentence around a match, or as much of it as fits."""
    before, after = text[max(0, start - _AROUND) : start], text[end : end + _AROUND]
    begin = max(before.rfind(mark) + len(mark) if mark in before else 0 for mark in _SENTENCE_ENDS)
    stop = min(after.find(mark) + 1 if mark in after else len(after) for mark in _SENTENCE_ENDS)
    return before[begin:] + text[start:end] + after[:stop]


def _is_correction(text: str) -> bool:
    """Return whether a prompt begins with a correction, or has one right after polite words ("thanks, but no, that's wrong")."""
    if pattern("correction").match(text):
        return True
    turned = pattern("turned").search(text)
    return turned is not None and pattern("correction").match(text[turned.end() :]) is not None
