"""The turn before, read from the tail of the transcript, for prompts such as "fix that" that say little by themselves."""

from __future__ import annotations

from ..kernel.text.tags import without_private
from ..kernel.transcript.tail import asked, records_backwards, replied

__all__ = ["last_turn"]

_TAIL_BYTES = 256 * 1024
_MAX_LINES = 400
_MOST_CHARACTERS = 800


def last_turn(path: str) -> str:
    """The last words that the user typed and the last text of the reply to them, cut to 800 characters each; empty when there is none.

    Never raises: a transcript that is missing, a pipe or full of other things is one without a turn.
    """
    question = reply = ""
    for record in records_backwards(path, _TAIL_BYTES, _MAX_LINES):
        reply = reply or without_private(replied(record)).strip()
        question = without_private(asked(record)[1]).strip()
        if question:
            break
    return (question[:_MOST_CHARACTERS] + " \n" + reply[-_MOST_CHARACTERS:]).strip()
