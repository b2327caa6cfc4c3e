"""Find transcripts: by path, by session id, of the current session, of a project, and of sub-agents.

Sub-agents write to `SESSION/subagents/agent-*.jsonl` beside the transcript of their session.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from ..kernel.paths import Paths
from ..kernel.transcript.reader import Reader, open_transcript
from ..memories.nearby import native_folders

_ID = re.compile(r"[A-Za-z0-9_-]{6,100}\Z")
_EXTENSION = ".jsonl"
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
    folders = [entry.path for entry in _entries(_root(paths)) if entry.is_dir(follow_symlinks=False)]
    found = [path for path in _transcripts(folders) if os.path.basename(path).startswith(name)]
    if not found:
        raise TranscriptNotFound("no session %s under %s" % (name, _root(paths)))
    if len({os.path.basename(path) for path in found}) > 1:
        raise TranscriptNotFound("%d sessions begin with %s; give more of the id" % (len(found), name))
    return found[-1]


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
    return _transcripts([os.path.dirname(memory) for memory in native_folders(paths)])


def _root(paths: Paths) -> str:
    return os.path.join(paths.config_dir or "", "projects")


def _entries(folder: str) -> list[os.DirEntry[str]]:
    try:
        return list(os.scandir(folder))
    except OSError:
        return []


def _transcripts(folders: list[str], *, of_agents: bool = False) -> list[str]:
    """Return the transcripts of sessions, or of sub-agents, in some folders, the newest last."""
    found = [
        (entry.stat(follow_symlinks=False).st_mtime, entry.path)
        for folder in folders
        for entry in _entries(folder)
        if entry.name.endswith(_EXTENSION)
        and entry.name.startswith("agent-") is of_agents
        and entry.is_file(follow_symlinks=False)
    ]
    return [path for _, path in sorted(found)]


def subagent_answers(transcript: str, request: str) -> Iterator[str]:
    """Yield the last text of each sub-agent whose prompt contains `request` and that ran `memory session prepare`, the newest first.

    The text comes from the sub-agent's own transcript, so the main session cannot change it.
    """
    folder = os.path.join(os.path.splitext(transcript)[0], "subagents")
    for path in reversed(_transcripts([folder], of_agents=True)):
        was_asked = has_read = False
        answer = ""
        with open_transcript(path) as file:
            for turn in Reader(file):
                was_asked = was_asked or any(request in entry.text for entry in turn.user_texts)
                has_read = has_read or any(_COMMAND in call.text("command") for call in turn.calls)
                answer = "\n".join(turn.texts) or answer
        if was_asked and has_read and answer:
            yield answer
