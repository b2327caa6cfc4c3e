"""Detect corrections and thanks by the user, and claims of completion, emoji and broken links in replies."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ..detection import Detector, pattern

if TYPE_CHECKING:
    from ...kernel.transcript.turn import Turn
    from ..detection import ReportSignal

_MAX_PROMPT = 400  # characters of a prompt that are searched for a correction or thanks
_MAX_TEXT = 20_000
_MAX_LINKS = 300
_MAX_CONTEXT = 80  # characters of a claim's sentence on each side
_SENTENCE_ENDS = (". ", "! ", "? ", "\n")


class PeopleDetector(Detector):
    """Detects signals in prompts and replies. `folder` is where the session ran, against which links are resolved, or empty."""

    def __init__(self, folder: str = "") -> None:
        self.folder = folder
        self._has_prompt = False
        self._checked_links = 0

    def observe(self, turn: Turn, report: ReportSignal) -> None:
        """Observe the next turn."""
        for entry in turn.user_texts:
            if entry.kind == "prompt":
                self._observe_prompt(entry.text[:_MAX_PROMPT], turn.number, report)
        for text in turn.texts:
            self._observe_reply(text[:_MAX_TEXT], turn.number, report)

    def _observe_prompt(self, text: str, turn: int, report: ReportSignal) -> None:
        if self._has_prompt and _is_correction(text):
            report("corrections", turn, text)
        elif self._has_prompt and pattern("thanks").search(text):
            report("thanks", turn, text)
        self._has_prompt = True

    def _observe_reply(self, text: str, turn: int, report: ReportSignal) -> None:
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
        """Return whether a link names a file that does not exist; False after a limited number of checks."""
        self._checked_links += 1
        if self._checked_links > _MAX_LINKS:
            return False
        try:
            return os.path.isdir(self.folder) and not os.path.lexists(os.path.join(self.folder, target))
        except ValueError:
            return True


def _sentence(text: str, start: int, end: int) -> str:
    """Return the sentence around a match, at most `_MAX_CONTEXT` characters of it on each side."""
    before, after = text[max(0, start - _MAX_CONTEXT) : start], text[end : end + _MAX_CONTEXT]
    begin = max(before.rfind(mark) + len(mark) if mark in before else 0 for mark in _SENTENCE_ENDS)
    stop = min(after.find(mark) + 1 if mark in after else len(after) for mark in _SENTENCE_ENDS)
    return before[begin:] + text[start:end] + after[:stop]


def _is_correction(text: str) -> bool:
    """Return whether a prompt is a correction, perhaps after polite words ("thanks, but no, that's wrong")."""
    if pattern("correction").match(text):
        return True
    polite = pattern("turned").search(text)
    return polite is not None and pattern("correction").match(text[polite.end() :]) is not None
