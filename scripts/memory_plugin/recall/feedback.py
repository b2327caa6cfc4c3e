"""Store how memories are used in `feedback.json`: the user's ratings, and which ones replies used.

Feedback moves a memory's own threshold within bounds: down if it was useful, up if it was wrong. It does not affect guards and the
session catalog, which have no threshold. It can be reset.

A reply used a memory if the memory's rare words or paths occur in it or in its tool calls, or if it followed the memory's guard. Otherwise
the use is unknown, because Claude may follow a rule without repeating its words. The words of the prompt, and the tool call at which a
memory was injected, do not count as its use, because they triggered it.
"""

from __future__ import annotations

import os

from ..kernel.context import now_iso
from ..kernel.fastjson import as_integer, as_object, as_texts, digest, loads
from ..kernel.files import FileLock, make_folder, read_regular
from ..kernel.paths import read_state, write_state

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..kernel.context import Context
    from ..kernel.paths import Paths
    from ..kernel.sqlite import Connection
    from ..kernel.transcript.turn import Turn

USED, USEFUL, WRONG = "used", "useful", "wrong"
# At the default thresholds, two "useful" raise a memory from a pointer to its full text. One "wrong" outweighs one "useful", because an
# irrelevant text costs trust, and a missing one only a search.
_USEFUL_STEP = 0.1
_WRONG_STEP = 0.15
_MIN_SHIFT, _MAX_SHIFT = -0.2, 0.45
_USER_SCOPE = "user:"
_MAX_BYTES = 4 << 20
_MAX_ENTRIES = 20_000
_LOCK_WAIT = 2.0
_SCHEMA = 1
_FILE = "feedback.json"
_MAX_CHARACTERS = 20_000  # of the reply, of its tool calls and of the prompts, each
_TRANSCRIPT_BYTES = 256 * 1024
# A word is rare if at most this many memories of the store, or this share of them, and at most this share of everyday technical texts
# contain it.
_RARE_MEMORIES = 2
_RARE_MEMORIES_SHARE = 0.02
_RARE_SHARE = 0.002
_MIN_RARE = 4  # characters
_MIN_NAME = 5  # characters of a path or full name, one of which is enough
_MIN_RARE_WORDS = 2
_TOOL, _FAILURE = "tool", "failure"


class Feedback:
    """The feedback on the memories of one project and of the user; memories are identified only by digests of their keys."""

    __slots__ = ("_entries", "_project")

    def __init__(self, paths: Paths) -> None:
        """Read the file; a missing or damaged one counts as empty."""
        self._project = paths.project_key
        self._entries = _entries(read_state(paths.state(_FILE), _MAX_BYTES))

    def shift(self, key: str) -> float:
        """Return the shift of a memory's thresholds against the settings, from -0.2 to 0.45; 0 without feedback."""
        counts = self.counts(key)
        shift = _WRONG_STEP * counts[WRONG] - _USEFUL_STEP * counts[USEFUL]
        return max(_MIN_SHIFT, min(_MAX_SHIFT, shift))

    def counts(self, key: str) -> dict[str, int]:
        """Return how often users called a memory useful or wrong, and how many replies used it."""
        entry = self._entries.get(_entry_key(self._project, key), {})
        return {name: _count(entry, name) for name in (USEFUL, WRONG, USED)}

    def used_at(self, key: str) -> str:
        """Return when a reply last used a memory, in the ledgers' time format; empty if none did."""
        value = self._entries.get(_entry_key(self._project, key), {}).get("used_at")
        return value if isinstance(value, str) else ""


def record_feedback(paths: Paths, keys: Iterable[str], kind: str) -> None:
    """Add one to the USED, USEFUL or WRONG count of each memory. Raises OSError, and Busy if another process holds the file."""
    with _locked(paths):
        entries = _entries_to_change(paths)
        for key in keys:
            mark = _entry_key(paths.project_key, key)
            entry = entries[mark] = entries.pop(mark, {})  # the last changed goes to the end
            entry[kind] = _count(entry, kind) + 1
            if kind == USED:
                entry["used_at"] = now_iso()
        _write(paths, entries)


def reset_feedback(paths: Paths, keys: Iterable[str] | None) -> int:
    """Delete the feedback on some memories (None: on all, of every project); return how many had any. Raises OSError and Busy."""
    with _locked(paths):
        entries = _entries_to_change(paths)
        marks = list(entries) if keys is None else [_entry_key(paths.project_key, key) for key in keys]
        deleted = [mark for mark in marks if entries.pop(mark, None) is not None]
        if deleted:
            _write(paths, entries)
    return len(deleted)


def _locked(paths: Paths) -> FileLock:
    make_folder(paths.state("locks"))
    return FileLock(paths.state("locks", "feedback.lock"), _LOCK_WAIT)


def _entry_key(project: str, key: str) -> str:
    """Return the digest that identifies a memory, so that no title is stored; a user-scope memory has the same in all projects."""
    name = key if key.startswith(_USER_SCOPE) else project + "\0" + key
    return digest(name.encode("utf-8", "replace"), 8)


def _entries(data: dict[str, object]) -> dict[str, dict[str, object]]:
    memories = as_object(data.get("memories"))
    return {mark: entry for mark, entry in memories.items() if isinstance(entry, dict)}


def _count(entry: dict[str, object], kind: str) -> int:
    return max(0, as_integer(entry.get(kind)) or 0)


def _entries_to_change(paths: Paths) -> dict[str, dict[str, object]]:
    """Return the file's entries; a damaged file is first renamed to keep it. Raises OSError if the file cannot be read.

    An unreadable file must not count as empty, because it would be replaced and the feedback lost.
    """
    try:
        data = loads(read_regular(paths.state(_FILE), _MAX_BYTES)[0].decode("utf-8"))
    except FileNotFoundError:
        return {}
    except ValueError:
        os.replace(paths.state(_FILE), paths.state(_FILE) + ".damaged")
        return {}
    return _entries(as_object(data))


def _write(paths: Paths, entries: dict[str, dict[str, object]]) -> None:
    newest = dict(list(entries.items())[-_MAX_ENTRIES:])
    write_state(paths.state(_FILE), {"schema": _SCHEMA, "memories": newest}, durable=True)


def find_uses(
    injected: dict[str, dict[str, str]], reply: str, transcript: str, context: Context, prompt_id: str = ""
) -> list[str]:
    """Return the memories that the last reply used, and those whose guard it followed on this prompt."""
    followed = [
        key
        for key, row in injected.items()
        if prompt_id and row["prompt_id"] == prompt_id and row["outcome"] == "reminded"
    ]
    rest = {key: row for key, row in injected.items() if key not in followed}
    return followed + (_repeated_in_reply(rest, reply, transcript, context) if rest else [])


def _repeated_in_reply(
    injected: dict[str, dict[str, str]], reply: str, transcript: str, context: Context
) -> list[str]:
    """Return the memories whose rare words or paths occur in the reply or its tool calls; empty if the index cannot be read."""
    from contextlib import closing

    from ..kernel.text.words import stems
    from ..kernel.transcript.reader import turns_since_prompt
    from .index_file import INDEX_ERRORS, index_path, open_index

    turns = turns_since_prompt(transcript, _TRANSCRIPT_BYTES) if transcript else []
    prompt_stems = stems("\n".join(turn.prompt for turn in turns)[:_MAX_CHARACTERS])
    # The tool call at which each memory was injected; empty for other places.
    calls = {
        key: row["tool_use_id"] if row["place"] in (_TOOL, _FAILURE) else "" for key, row in injected.items()
    }
    texts = {
        call: reply[-_MAX_CHARACTERS:] + "\n" + _call_arguments(turns, call) for call in set(calls.values())
    }
    stems_by_call = {call: stems(text) - prompt_stems for call, text in texts.items()}
    # At its file, a memory's path in the call is no use.
    read = {key: "" if injected[key]["place"] == _TOOL else texts[call] for key, call in calls.items()}
    try:
        with closing(open_index(index_path(context.paths))) as connection:
            held = {key: stems_by_call[call] for key, call in calls.items()}
            return [key for key in calls if _is_used(connection, key, held[key], read[key])]
    except INDEX_ERRORS:
        return []


def _call_arguments(turns: list[Turn], injecting: str) -> str:
    """Return the text arguments of the turns' tool calls, the last first, without the call at which a memory was injected."""
    parts: list[str] = []
    room = _MAX_CHARACTERS
    for turn in reversed(turns):
        for call in turn.calls:
            if injecting and call.id == injecting:
                continue
            for value in call.input.values():
                if isinstance(value, str) and room > 0:
                    parts.append(value[:room])
                    room -= len(value)
    return "\n".join(parts)


def _is_used(connection: Connection, key: str, stems: set[str], reply: str) -> bool:
    """Return whether `reply` contains a path of a memory, or `stems` its rare words; `reply` is empty if it was injected at its file."""
    select = (
        "SELECT vectors.title || vectors.tags || vectors.body, documents.files FROM documents "
        "JOIN vectors ON vectors.rowid = documents.rowid WHERE documents.key = ?"
    )
    row = connection.execute(select, (key,)).fetchone()
    if row is None:
        return False
    from .index_file import value_of

    paths = value_of(lambda: as_texts(loads(row[1])), "paths")
    if any(len(path) >= _MIN_NAME and path in reply for path in paths):
        return True
    from ..kernel.text.words import is_compound_name

    memory_stems = {term.partition("~")[0] for term in row[0].split()}
    shared = _rare_stems(connection, memory_stems & stems)
    return len(shared) >= _MIN_RARE_WORDS or any(
        is_compound_name(stem) and len(stem) >= _MIN_NAME for stem in shared
    )


def _rare_stems(connection: Connection, stems: set[str]) -> list[str]:
    """Return the stems that few memories of this store and few everyday texts contain."""
    from .query import frequencies

    documents = connection.execute("SELECT SUM(documents) FROM totals").fetchone()[0] or 0
    max_memories = max(_RARE_MEMORIES, _RARE_MEMORIES_SHARE * documents)
    known = frequencies(connection, {stem for stem in stems if len(stem) >= _MIN_RARE}, only_injectable=False)
    return [
        stem
        for stem, (strong, weak, share) in known.items()
        if strong + weak <= max_memories and share < _RARE_SHARE
    ]
