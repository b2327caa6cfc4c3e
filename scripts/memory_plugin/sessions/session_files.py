"""Find transcripts (by path, by session id, of the current session, of a whole project) and the answers of sub-agents.

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

_ID = re.compile(r"[A-Za-z0-9_-]{6,100}\Z")
_MAX_FOLDERS = 5000
_EXTENSION = ".jsonl"
_MAX_FILES = 50
_COMMAND = "memory session prepare"


class TranscriptNotFound(OSError):
    """There is no such transcript; the text says where it was searched for."""


def is_session_id(name: str) -> bool:
    """Return whether a name may be a session id, or the beginning of one."""
    return _ID.match(name) is not None


def find_transcript(paths: Paths, name: str) -> str:
    """Return a transcript's path; `name` is a path, a session id or its beginning. Raises TranscriptNotFound."""
    if os.path.isfile(name):
        return os.path.abspath(name)
    if not is_session_id(name):
        raise TranscriptNotFound("no transcript at %s" % name)
    matches = [
        path
        for folder in _folders(paths)
        for path in _transcripts(folder)
        if os.path.basename(path).startswith(name)
    ]
    if not matches:
        raise TranscriptNotFound("no session %s under %s" % (name, _root(paths)))
    if len({os.path.basename(path) for path in matches}) > 1:
        raise TranscriptNotFound("%d sessions begin with %s; give more of the id" % (len(matches), name))
    return max(matches, key=_modified)


def current_transcript(paths: Paths, session: str) -> str:
    """Return the current session's transcript, or outside of a session the project's newest. Raises TranscriptNotFound."""
    if session:
        return find_transcript(paths, session)
    transcripts = project_transcripts(paths)
    if not transcripts:
        raise TranscriptNotFound("no session of this project under %s" % _root(paths))
    return transcripts[-1]


def project_transcripts(paths: Paths) -> list[str]:
    """Return the transcripts of this project, the newest last, without those of sub-agents."""
    folders = [os.path.dirname(memory) for memory in native_folders(paths)]
    return sorted((path for folder in folders for path in _transcripts(folder)), key=_modified)


def transcripts_below(folder: str) -> list[str]:
    """Return the transcripts in a folder and its subfolders by name, without those of sub-agents."""
    transcripts = []
    for parent, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if name != "subagents")
        transcripts += [os.path.join(parent, name) for name in sorted(names) if name.endswith(_EXTENSION)]
    return transcripts


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
                entry.path
                for entry in entries
                if entry.name.endswith(_EXTENSION)
                and not entry.name.startswith("agent-")
                and entry.is_file(follow_symlinks=False)
            ]
    except OSError:
        return []


def _modified(path: str) -> float:
    try:
        return os.lstat(path).st_mtime
    except OSError:
        return 0.0


def subagent_answers(transcript: str, request: str) -> Iterator[str]:
    """Yield the last text of each sub-agent whose prompt contains `request` and that ran `memory session prepare`, the newest first.

    The text comes from the sub-agent's own transcript, so the main session cannot change it.
    """
    folder = os.path.join(os.path.splitext(transcript)[0], "subagents")
    try:
        with os.scandir(folder) as entries:
            files = [
                (entry.stat().st_mtime, entry.path)
                for entry in entries
                if entry.name.endswith(_EXTENSION) and entry.is_file(follow_symlinks=False)
            ]
    except OSError:
        return
    for _, path in sorted(files, reverse=True)[:_MAX_FILES]:
        text = _answer_in(path, request)
        if text:
            yield text


def _answer_in(path: str, request: str) -> str:
    """Return the last text in a sub-agent's transcript, empty if it was not asked or did not read the session."""
    was_asked = has_read = False
    answer = ""
    try:
        with open_transcript(path) as file:
            for turn in Reader(file):
                was_asked = was_asked or any(request in entry.text for entry in turn.user_texts)
                has_read = has_read or any(_COMMAND in call.text("command") for call in turn.calls)
                answer = "\n".join(turn.texts) or answer
    except OSError:
        return ""
    return answer if was_asked and has_read else ""
