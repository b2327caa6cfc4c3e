"""Find which injected memories a reply used: their rare words or paths occur in it or in its tool calls, or it followed their guard.

Otherwise the use is unknown, because Claude may follow a rule without repeating its words. The words of the prompt, and the tool call at
which a memory was injected, do not count as its use, because they triggered it.
"""

from __future__ import annotations

from ..kernel.fastjson import as_texts, loads
from ..kernel.records import Records

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..kernel.context import Context
    from ..kernel.sqlite import Connection
    from ..kernel.transcript.turn import Turn

_TAIL_BYTES = 64 * 1024
_MAX_MEMORIES = 30
# Rules of the catalog are injected in every session, so repeating one means little. A sub-agent's memories are not in Claude's context.
_IGNORED_PLACES = ("catalog", "subagent")
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
_TOOL, _FAILURE, _GUARD = "tool", "failure", "guard"
_REMINDED, _LET_THROUGH = "reminded", "let_through"


class InjectedMemory:
    """How a memory was injected: at which place and prompt, the id of the tool call if any, and whether Claude followed it as a guard."""

    __slots__ = ("call", "followed", "place", "prompt_id")

    def __init__(self, row: dict[str, Any]) -> None:
        self.place, self.call, self.prompt_id = (
            row.get(name, "") for name in ("place", "tool_use_id", "prompt_id")
        )
        self.followed = self.place == _GUARD and row.get("outcome") == _REMINDED


def injected_in_session(context: Context) -> dict[str, InjectedMemory]:
    """Return the memories injected in this session by key, at most the last 30, as read from the end of the ledger.

    A guard counts as followed until Claude repeats the call that it denied. Empty if the ledger cannot be read.
    """
    injected: dict[str, InjectedMemory] = {}
    records = Records(context.paths.state(), "recalls", project=context.paths.project_key, tail=_TAIL_BYTES)
    for row in records:
        if row.get("session") != context.session or row.get("place") in _IGNORED_PLACES:
            continue
        injected.update((key, InjectedMemory(row)) for key in row.get("injected", ()))
        for key in row.get("guards", ()):
            if key in injected and row.get("outcome") == _LET_THROUGH:
                injected[key].followed = False
    return dict(list(injected.items())[-_MAX_MEMORIES:])


def find_uses(
    injected: dict[str, InjectedMemory], reply: str, transcript: str, context: Context, prompt_id: str = ""
) -> list[str]:
    """Return the memories that the last reply used, and those whose guard it followed on this prompt."""
    followed = [
        key
        for key, memory in injected.items()
        if memory.followed and prompt_id and memory.prompt_id == prompt_id
    ]
    rest = {key: memory for key, memory in injected.items() if key not in followed}
    return followed + (_repeated_in_reply(rest, reply, transcript, context) if rest else [])


def _repeated_in_reply(
    injected: dict[str, InjectedMemory], reply: str, transcript: str, context: Context
) -> list[str]:
    """Return the memories whose rare words or paths occur in the reply or its tool calls; empty if the index cannot be read."""
    from ..kernel.transcript.reader import turns_since_prompt
    from .index_file import INDEX_ERRORS, index_path, open_index

    turns = turns_since_prompt(transcript, _TRANSCRIPT_BYTES) if transcript else []
    prompt_stems = _stems("\n".join(turn.prompt for turn in turns)[:_MAX_CHARACTERS])
    texts = {
        call: reply[-_MAX_CHARACTERS:] + "\n" + _call_arguments(turns, call)
        for call in {_injecting_call(memory) for memory in injected.values()}
    }
    stems = {call: _stems(text) - prompt_stems for call, text in texts.items()}
    if not any(stems.values()):
        return []
    try:
        connection = open_index(index_path(context.paths))
    except INDEX_ERRORS:
        return []
    try:
        return [
            key
            for key, memory in injected.items()
            if _is_used(
                connection,
                key,
                stems[_injecting_call(memory)],
                "" if memory.place == _TOOL else texts[_injecting_call(memory)],
            )
        ]
    except INDEX_ERRORS:
        return []
    finally:
        connection.close()


def _injecting_call(memory: InjectedMemory) -> str:
    """Return the id of the tool call at which a memory was injected; empty for other places."""
    return memory.call if memory.place in (_TOOL, _FAILURE) else ""


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


def _stems(text: str) -> set[str]:
    from ..kernel.text.stem import form
    from ..kernel.text.tokens import tokenize

    return {form(word).partition("~")[0] for word in tokenize(text)}


def _is_used(connection: Connection, key: str, stems: set[str], reply: str) -> bool:
    """Return whether `reply` contains a path of a memory, or `stems` its rare words; `reply` is empty if it was injected at its file."""
    row = connection.execute(
        "SELECT vectors.title || vectors.tags || vectors.body, documents.files FROM documents "
        "JOIN vectors ON vectors.rowid = documents.rowid WHERE documents.key = ?",
        (key,),
    ).fetchone()
    if row is None:
        return False
    if any(len(path) >= _MIN_NAME and path in reply for path in as_texts(loads(row[1]))):
        return True
    from ..kernel.text.tokens import is_compound_name

    memory_stems = {term.partition("~")[0] for term in row[0].split()}
    shared = _rare_stems(connection, memory_stems & stems)
    return len(shared) >= _MIN_RARE_WORDS or any(
        is_compound_name(stem) and len(stem) >= _MIN_NAME for stem in shared
    )


def _rare_stems(connection: Connection, stems: set[str]) -> list[str]:
    """Return the stems that few memories of this store and few everyday texts contain."""
    documents = connection.execute("SELECT SUM(documents) FROM totals").fetchone()[0] or 0
    max_memories = max(_RARE_MEMORIES, _RARE_MEMORIES_SHARE * documents)
    ordered = sorted(stem for stem in stems if len(stem) >= _MIN_RARE)[:500]
    rows = connection.execute(
        "SELECT term, strong + weak + held_strong + held_weak, share FROM vocabulary WHERE term IN (%s)"
        % ",".join("?" * len(ordered)),
        ordered,
    )
    return [term for term, memories, share in rows if memories <= max_memories and share < _RARE_SHARE]
