"""Find the texts of prompts in the user's own transcripts: the ledgers hold only their ids."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from ...kernel.fastjson import loads
from ...kernel.text.tags import without_private
from ...kernel.transcript.lines import MAX_LINE
from ...kernel.transcript.reader import open_transcript
from ...kernel.transcript.rows import user_input_of
from ...memories.hygiene import CUT_MARGIN, shown_line

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ...kernel.paths import Paths
    from .recall_figures import MissedPrompt

__all__ = ["prompt_texts", "shown_prompt"]

_SESSION = re.compile(r"[A-Za-z0-9_-]{6,100}\Z")
_MAX_FOLDERS = 5000
_MAX_TRANSCRIPTS = 60
_MAX_BYTES = 400 << 20  # in total, so that a report takes seconds
_MAX_PROMPT = 300
_ID_FIELD = b'"promptId"'


def prompt_texts(missed: Iterable[MissedPrompt], paths: Paths) -> dict[str, str]:
    """Return the texts by prompt id, redacted and cut to 300 characters. Prompts whose transcript is gone are left out."""
    wanted: dict[str, set[str]] = {}
    for prompt in missed:
        if prompt.prompt_id and _SESSION.match(prompt.session) and not prompt.text:
            wanted.setdefault(prompt.session, set()).add(prompt.prompt_id)
    found: dict[str, str] = {}
    left = _MAX_BYTES
    for path, ids in _transcripts(wanted, paths)[:_MAX_TRANSCRIPTS]:
        left -= _size(path)
        if left < 0:
            break
        found.update(_texts(path, ids))
    return found


def shown_prompt(text: str) -> str:
    """Return a prompt as the report shows it: one line without secrets and private passages."""
    line = shown_line(without_private(text[: _MAX_PROMPT + CUT_MARGIN]))
    return line if len(line) <= _MAX_PROMPT else line[: _MAX_PROMPT - 1] + "\u2026"


def _transcripts(wanted: dict[str, set[str]], paths: Paths) -> list[tuple[str, set[str]]]:
    """Return the transcripts of sessions, the latest session first, with the ids to look for."""
    if paths.config_dir is None or not wanted:
        return []
    root = os.path.join(paths.config_dir, "projects")
    try:
        with os.scandir(root) as entries:
            folders = [entry.path for entry in entries if entry.is_dir(follow_symlinks=False)][:_MAX_FOLDERS]
    except OSError:
        return []
    found = []
    for session in reversed(list(wanted)):
        for folder in folders:
            path = os.path.join(folder, session + ".jsonl")
            if os.path.isfile(path):
                found.append((path, wanted[session]))
    return found


def _texts(path: str, ids: set[str]) -> dict[str, str]:
    marks = {identity: identity.encode("ascii", "ignore") for identity in ids}
    found: dict[str, str] = {}
    try:
        with open_transcript(path) as file:
            while len(found) < len(ids) and (line := file.readline(MAX_LINE)):
                if _ID_FIELD not in line:
                    continue
                for identity in [id_ for id_, mark in marks.items() if id_ not in found and mark in line]:
                    text = _prompt(line, identity)
                    if text:
                        found[identity] = shown_prompt(text)
    except OSError:
        return found
    return found


def _prompt(line: bytes, identity: str) -> str:
    """Return what a person typed in a row of that prompt; empty for any other row."""
    try:
        record = loads(line.decode("utf-8", "replace"))
    except ValueError:
        return ""
    if not isinstance(record, dict) or record.get("promptId") != identity:
        return ""
    return user_input_of(record)[1]


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except OSError:
        return 0
