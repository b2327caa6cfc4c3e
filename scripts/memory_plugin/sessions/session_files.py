"""Find transcripts: by path, by session id, the present session, a whole project; and the answers of sub-agents.

Sub-agents write to `SESSION/subagents/agent-*.jsonl` beside the transcript of their session.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from ..kernel.transcript.reader import Reader, open_transcript
from ..memories.claude_notes import native_folders

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..kernel.paths import Paths

__all__ = [
    "TranscriptNotFound",
    "current_transcript",
    "find_transcript",
    "is_session_id",
    "project_transcripts",
    "subagent_answers",
    "transcripts_below",
]

_ID = re.compile(r"[A-Za-z0-9_-]{6,100}\Z")
_MAX_FOLDERS = 5000
_END = ".jsonl"
_MAX_FILES = 50
_COMMAND = "memory session prepare"


class TranscriptNotFound(OSError):
    """There is no such transcript; the text says where it was looked for."""


def is_session_id(name: str) -> bool:
    """Return whether a name may be a session id, or the beginning of one, rather than a file."""
    return _ID.match(name) is not None


def find_transcript(paths: Paths, name: str) -> str:
    """Return the path of a transcript: the file itself, or the session whose id is or begins with `name`. Raises TranscriptNotFound."""
    if os.path.isfile(name):
        return os.path.abspath(name)
    if not is_session_id(name):
        raise TranscriptNotFound("no transcript at %s" % name)
    found = [
        path
        for folder in _folders(paths)
        for path in _transcripts(folder)
        if os.path.basename(path).startswith(name)
    ]
    if not found:
        raise TranscriptNotFound("no session %s under %s" % (name, _root(paths)))
    if len({os.path.basename(path) for path in found}) > 1:
        raise TranscriptNotFound("%d sessions begin with %s; give more of the id" % (len(found), name))
    return max(found, key=_modified)


def current_transcript(paths: Paths, session: str) -> str:
    """Return the present session's transcript; outside of a session, the newest of the project. Raises TranscriptNotFound."""
    if session:
        return find_transcript(paths, session)
    found = project_transcripts(paths)
    if not found:
        raise TranscriptNotFound("no session of this project under %s" % _root(paths))
    return found[-1]


def project_transcripts(paths: Paths) -> list[str]:
    """Return the transcripts of this project, the newest last, without those of sub-agents."""
    found = [path for memory in native_folders(paths) for path in _transcripts(os.path.dirname(memory))]
    return sorted(found, key=_modified)


def transcripts_below(folder: str) -> list[str]:
    """Return the transcripts in a folder and below, without those of sub-agents, by name."""
    found = []
    for above, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if name != "subagents")
        found += [os.path.join(above, name) for name in sorted(names) if name.endswith(_END)]
    return found


def _root(paths: Paths) -> str:
    return os.path.join(paths.config_dir or "", "projects")


def _folders(paths: Paths) -> list[str]:
    try:
        with os.scandir(_root(paths)) as entries:
            return [entry.path for entry in entries if entry.is_dir(follow_symlinks=False)][:_MAX_FOLDERS]
    except OSError:
        return []


def _transcripts(folder: str) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            return [
                e.path
                for e in entries
                if e.name.endswith(_END)
                and not e.name.startswith("agent-")
                and e.is_file(follow_symlinks=False)
            ]
    except OSError:
        return []


def _modified(path: str) -> float:
    try:
        return os.lstat(path).st_mtime
    except OSError:
        return 0.0


def subagent_answers(transcript: str, wanted: str) -> Iterator[str]:
    """Yield the last text of each sub-agent that was asked for `wanted` and ran `memory session prepare`, the newest first.

    It comes from the sub-agent's own transcript, so that nobody can change it on the way.
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
    for _, path in sorted(files, reverse=True)[:_MAX_FILES]:
        text = _last_words(path, wanted)
        if text:
            yield text


def _last_words(path: str, wanted: str) -> str:
    asked = read = False
    words = ""
    try:
        with open_transcript(path) as file:
            for turn in Reader(file):
                asked = asked or any(wanted in entry.text for entry in turn.user_texts)
                read = read or any(_COMMAND in call.text("command") for call in turn.calls)
                words = "\n".join(turn.texts) or words
    except OSError:
        return ""
    return words if asked and read else ""
