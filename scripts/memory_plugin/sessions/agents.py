"""What a sub-agent of the present session answered, out of its own transcript: nobody copies it, nobody can change it on the way."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ..kernel.transcript.reader import Reader, open_transcript

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["answers_of_agents"]

_MOST_FILES = 50
_MARK = "memory session prepare"


def answers_of_agents(transcript: str, wanted: str) -> Iterator[str]:
    """The last words of a session's sub-agents that were asked for `wanted` and ran `memory session prepare`, the newest first.

    Sub-agents write into `SESSION/subagents/agent-*.jsonl` beside the session's own transcript.
    """
    folder = os.path.join(os.path.splitext(transcript)[0], "subagents")
    try:
        with os.scandir(folder) as entries:
            files = [
                (e.stat().st_mtime, e.path)
                for e in entries
                if e.name.endswith(".jsonl") and e.is_file(follow_symlinks=False)
            ]
    except OSError:
        return
    for _, path in sorted(files, reverse=True)[:_MOST_FILES]:
        text = _last_words(path, wanted)
        if text:
            yield text


def _last_words(path: str, wanted: str) -> str:
    asked = read = False
    words = ""
    try:
        with open_transcript(path) as file:
            for turn in Reader(file):
                asked = asked or any(wanted in said.text for said in turn.said)
                read = read or any(_MARK in call.text("command") for call in turn.calls)
                words = "\n".join(turn.texts) or words
    except OSError:
        return ""
    return words if asked and read else ""
