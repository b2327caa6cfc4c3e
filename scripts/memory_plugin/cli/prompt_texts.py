"""The beginnings of recorded prompts, from the user's own transcripts: ledgers hold only prompt ids unless a setting says otherwise."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import Any

from ..kernel.fastjson import loads
from ..kernel.paths import Paths
from ..kernel.text.tags import without_private
from ..kernel.transcript.reader import MAX_LINE, open_transcript
from ..kernel.transcript.rows import user_input_of
from ..memories.hygiene import CUT_MARGIN, shown_line

_SESSION = re.compile(r"[A-Za-z0-9_-]{6,100}\Z")  # the session names a file, so it must not contain a path
_MAX_FOLDERS = 5000
_MAX_TRANSCRIPTS = 60
_MAX_BYTES = 400 << 20  # of all transcripts together: a report should take seconds
_MAX_PROMPT = 300
_ID_FIELD = b'"promptId"'


def prompt_texts(rows: Sequence[dict[str, Any]], paths: Paths) -> dict[str, str]:
    """Return texts by prompt id for rows of the ledger `recalls`, redacted and cut; prompts without a known text are left out."""
    texts = {
        row["prompt_id"]: shown_prompt(row["prompt"])
        for row in rows
        if row.get("prompt_id") and row.get("prompt")
    }
    wanted: dict[str, set[str]] = {}
    for row in rows:
        prompt_id, session = row.get("prompt_id"), row.get("session", "")
        if prompt_id and prompt_id not in texts and _SESSION.match(session):
            wanted.setdefault(session, set()).add(prompt_id)
    bytes_left = _MAX_BYTES
    for path, ids in _transcripts(wanted, paths)[:_MAX_TRANSCRIPTS]:
        try:
            bytes_left -= os.path.getsize(path)
            if bytes_left < 0:
                break
            _add_texts(texts, path, ids)
        except OSError:
            continue  # the texts read so far are still good
    return texts


def shown_prompt(text: str, limit: int = _MAX_PROMPT) -> str:
    """Return the beginning of a prompt as one line without secrets and private passages."""
    shown = shown_line(without_private(text[: limit + CUT_MARGIN]))
    return shown if len(shown) <= limit else shown[: limit - 1] + "\u2026"


def _transcripts(wanted: dict[str, set[str]], paths: Paths) -> list[tuple[str, set[str]]]:
    """Return the transcripts of sessions with the ids to look for, latest session first."""
    if paths.config_dir is None or not wanted:
        return []
    try:
        with os.scandir(os.path.join(paths.config_dir, "projects")) as entries:
            folders = [entry.path for entry in entries if entry.is_dir(follow_symlinks=False)][:_MAX_FOLDERS]
    except OSError:
        return []
    return [
        (path, wanted[session])
        for session in reversed(list(wanted))
        for path in (os.path.join(folder, session + ".jsonl") for folder in folders)
        if os.path.isfile(path)
    ]


def _add_texts(texts: dict[str, str], path: str, ids: set[str]) -> None:
    """Add the texts that one transcript holds for these prompt ids. Raises OSError."""
    left = {prompt_id: prompt_id.encode("ascii", "ignore") for prompt_id in ids}
    with open_transcript(path) as file:
        while left and (line := file.readline(MAX_LINE)):
            for prompt_id in [name for name, word in left.items() if _ID_FIELD in line and word in line]:
                text = _typed_text(line, prompt_id)
                if text:
                    texts[prompt_id] = shown_prompt(text)
                    del left[prompt_id]


def _typed_text(line: bytes, prompt_id: str) -> str:
    """Return what a person typed in a line of this prompt; empty for any other line."""
    try:
        record = loads(line.decode("utf-8", "replace"))
    except ValueError:
        return ""
    return (
        user_input_of(record)[1] if isinstance(record, dict) and record.get("promptId") == prompt_id else ""
    )
