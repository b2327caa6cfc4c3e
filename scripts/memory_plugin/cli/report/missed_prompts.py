"""The prompts without a good enough memory, with their texts from the user's own transcripts; ledgers hold only prompt ids."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ...kernel.fastjson import loads
from ...kernel.paths import Paths
from ...kernel.text.clean import plain
from ...kernel.text.tags import without_private
from ...kernel.transcript.reader import MAX_LINE, open_transcript
from ...kernel.transcript.rows import user_input_of
from ...memories.hygiene import CUT_MARGIN, shown_line
from .elements import Cell, Name, Note, Part, Section, Table, count, day_label, percent, times
from .figures import MissedPrompt

_SESSION = re.compile(r"[A-Za-z0-9_-]{6,100}\Z")
_MAX_ROWS = 25
_MAX_NAME = 120
_MAX_FOLDERS = 5000
_MAX_TRANSCRIPTS = 60
_MAX_BYTES = 400 << 20  # of all transcripts together: a report should take seconds
_MAX_PROMPT = 300
_ID_FIELD = b'"promptId"'


class MissedRow(NamedTuple):
    """A line of the table; `text` is empty if the transcript is gone, `times` counts prompts with the same text."""

    time: str
    text: str
    prompt_id: str
    project: str
    reason: str
    nearest: str
    confidence: float
    times: int


def missed_rows(missed: Sequence[MissedPrompt], paths: Paths) -> list[MissedRow]:
    """Return one row per text, those with a text first, then by frequency and time."""
    texts = _prompt_texts(missed, paths)
    rows: dict[str, MissedRow] = {}
    for prompt in reversed(missed):
        text = _shown_prompt(prompt.text) if prompt.text else texts.get(prompt.prompt_id, "")
        name = text.casefold() or prompt.prompt_id
        if name in rows:
            rows[name] = rows[name]._replace(times=rows[name].times + 1)
            continue
        rows[name] = MissedRow(
            time=prompt.time,
            text=text,
            prompt_id=plain(prompt.prompt_id, _MAX_NAME),
            project=plain(prompt.project, _MAX_NAME),
            reason=prompt.reason,
            nearest=plain(prompt.nearest, _MAX_NAME),
            confidence=prompt.confidence,
            times=1,
        )
    ordered = sorted(rows.values(), key=lambda row: (bool(row.text), row.times, row.time), reverse=True)
    return ordered[:_MAX_ROWS]


def _prompt_texts(missed: Iterable[MissedPrompt], paths: Paths) -> dict[str, str]:
    """Return texts by prompt id, redacted and cut to 300 characters; prompts without a transcript are left out."""
    ids_by_session: dict[str, set[str]] = {}
    for prompt in missed:
        # The session names a file, so it must not contain a path.
        if prompt.prompt_id and _SESSION.match(prompt.session) and not prompt.text:
            ids_by_session.setdefault(prompt.session, set()).add(prompt.prompt_id)
    texts: dict[str, str] = {}
    bytes_left = _MAX_BYTES
    for path, ids in _transcripts(ids_by_session, paths)[:_MAX_TRANSCRIPTS]:
        bytes_left -= _size(path)
        if bytes_left < 0:
            break
        texts.update(_texts_in(path, ids))
    return texts


def _shown_prompt(text: str) -> str:
    """Return a prompt as one line without secrets and private passages."""
    shown = shown_line(without_private(text[: _MAX_PROMPT + CUT_MARGIN]))
    return shown if len(shown) <= _MAX_PROMPT else shown[: _MAX_PROMPT - 1] + "\u2026"


def _transcripts(ids_by_session: dict[str, set[str]], paths: Paths) -> list[tuple[str, set[str]]]:
    """Return the transcripts of sessions with the ids to look for, latest session first."""
    if paths.config_dir is None or not ids_by_session:
        return []
    root = os.path.join(paths.config_dir, "projects")
    try:
        with os.scandir(root) as entries:
            folders = [entry.path for entry in entries if entry.is_dir(follow_symlinks=False)][:_MAX_FOLDERS]
    except OSError:
        return []
    return [
        (path, ids_by_session[session])
        for session in reversed(list(ids_by_session))
        for path in (os.path.join(folder, session + ".jsonl") for folder in folders)
        if os.path.isfile(path)
    ]


def _texts_in(path: str, ids: set[str]) -> dict[str, str]:
    """Return the texts that one transcript holds for these prompt ids."""
    encoded_ids = {prompt_id: prompt_id.encode("ascii", "ignore") for prompt_id in ids}
    texts: dict[str, str] = {}
    try:
        with open_transcript(path) as file:
            while len(texts) < len(ids) and (line := file.readline(MAX_LINE)):
                if _ID_FIELD not in line:
                    continue
                for prompt_id, encoded in encoded_ids.items():
                    if prompt_id not in texts and encoded in line:
                        text = _typed_text(line, prompt_id)
                        if text:
                            texts[prompt_id] = _shown_prompt(text)
    except OSError:
        pass  # the texts read so far are still good
    return texts


def _typed_text(line: bytes, prompt_id: str) -> str:
    """Return what a person typed in a line of this prompt; empty for any other line."""
    try:
        record = loads(line.decode("utf-8", "replace"))
    except ValueError:
        return ""
    if not isinstance(record, dict) or record.get("promptId") != prompt_id:
        return ""
    return user_input_of(record)[1]


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except OSError:
        return 0


def missed_section(missed: list[MissedRow], number: int, prompts: int) -> Section:
    """Return the prompts without a good enough memory; a repeated question may be worth one.

    Args:
        missed: The latest, one row for each text.
        number: The number of all.
        prompts: The number of all prompts.
    """
    figures = {"prompts": number, "latest": [row._asdict() for row in missed]}
    about = (
        "Prompts for which no memory was a good enough match. Most need none, but a question that keeps coming up is worth"
        " saving. The texts come from your own transcripts; the ledgers do not hold them."
    )
    parts: list[Part] = [Note("There were none in this period.", kind="empty")]
    if missed:
        share = percent(number, prompts)
        counted = "1 prompt" if number == 1 else count(number) + " prompts"
        gone = sum(not row.text for row in missed)
        lost = "Prompts without a text because their transcripts are gone: %s." % count(gone)
        columns = [("Prompt", "name"), ("Last asked", "n"), ("Confidence", "n"), ("Nearest memory", "text")]
        parts = [
            Note("%s, %s of all. To save an answer:" % (counted, share), 'memory save "..."'),
            Table("", columns, [_missed_cells(row) for row in missed if row.text]),
            *([Note(lost, kind="soft")] if gone else []),
        ]
    return Section("missed", "Prompts that found nothing", "Found nothing", about, figures, parts)


def _missed_cells(row: MissedRow) -> list[Cell]:
    confidence = "%.0f%%" % (100 * min(1.0, row.confidence)) if row.nearest else "\u2013"
    name = Name(row.text, times(row.times) if row.times > 1 else "")
    return [name, day_label(row.time), confidence, row.nearest.rpartition("/")[2]]
