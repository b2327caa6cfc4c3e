"""Read conversations to evaluate, from Claude Code's transcripts or from JSON lines with one turn each.

Such a line is `{"turn": 1, "role": "user", "content": "..."}`; roles are user, assistant, tool and system. Tool turns contain a tool's
output; claims of work are checked against it.
"""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, NamedTuple

from ..kernel.fastjson import digest, dumps, loads
from ..kernel.text.tags import without_private
from ..kernel.transcript.reader import Reader, open_transcript
from .evaluation_files import parse_lines

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import IO

    from ..kernel.transcript.turn import Call, Turn

ROLES = ("user", "assistant", "tool", "system")
MAX_BYTES = 200_000_000
_MAX_TURNS = 100_000
_MAX_CONTENT = 200_000  # characters kept of one turn
_MAX_INPUT = 4_000  # characters kept of a tool call's input
_USER_KINDS = ("prompt", "command")


class ConversationTurn(NamedTuple):
    """One turn. `number` is from the file, or counts from 1; `failed` marks a tool call that failed."""

    number: int
    role: str
    content: str
    failed: bool = False


class Conversation(NamedTuple):
    """The turns in order, without text between <private> tags; `skipped` counts lines that were not a turn."""

    id: str
    turns: tuple[ConversationTurn, ...]
    skipped: int

    @property
    def digest(self) -> str:
        """Return a digest of all turns, which reveals no text."""
        data = dumps([[turn.role, turn.content, turn.failed] for turn in self.turns])
        return digest(data.encode("ascii"), 8)


def conversation_of(identity: str, records: Iterable[object]) -> Conversation:
    """Build a conversation from parsed turns; anything else is counted as skipped."""
    turns: list[ConversationTurn] = []
    skipped = 0
    for record in records:
        turn = _turn(record, len(turns) + 1) if len(turns) < _MAX_TURNS else None
        if turn is None:
            skipped += 1
        else:
            turns.append(turn)
    return Conversation(identity, tuple(turns), skipped)


def _turn(record: object, place: int) -> ConversationTurn | None:
    if not isinstance(record, dict) or record.get("role") not in ROLES:
        return None
    content = _text(record.get("content"))
    number = record.get("turn", place)
    if content is None:
        return None
    has_number = isinstance(number, int) and not isinstance(number, bool)
    return ConversationTurn(
        number if has_number else place,
        record["role"],
        without_private(content),
        record.get("failed") is True,
    )


def _text(content: object) -> str | None:
    """Return a turn's text, also from a list of content blocks as in the APIs; None for anything else."""
    if isinstance(content, str):
        return content[:_MAX_CONTENT]
    if isinstance(content, list):
        texts = [block.get("text") for block in content if isinstance(block, dict)]
        return "\n".join(text for text in texts if isinstance(text, str))[:_MAX_CONTENT]
    return None


def read_conversation(path: str, identity: str = "") -> Conversation:
    """Read the conversation in a file of either form. Raises OSError and Unreadable."""
    with open_transcript(path) as file:
        return read_lines(file, identity or path)


def read_lines(file: IO[bytes], identity: str) -> Conversation:
    """Read the conversation in an open file of at most 200 MB."""
    head = file.read(1 << 16)
    if _has_json_turns(head):
        return _read_json_turns(head + file.read(MAX_BYTES), identity)
    if file.seekable():
        file.seek(0)
    else:
        file = io.BytesIO(head + file.read(MAX_BYTES))
    reader = Reader(file)
    turns = [turn for transcript_turn in reader for turn in _split_turn(transcript_turn)]
    numbered = tuple(
        turn._replace(number=place, content=without_private(turn.content))
        for place, turn in enumerate(turns[:_MAX_TURNS], 1)
    )
    return Conversation(identity, numbered, 0)


def _has_json_turns(head: bytes) -> bool:
    """Return whether the first object is a turn, which has a role; a transcript's records have a message instead."""
    if head.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] == b"[":
        return True
    for record in parse_lines(b"\n".join(head.splitlines()[:20])):
        if isinstance(record, dict):
            return "role" in record and "message" not in record
    return False


def _read_json_turns(data: bytes, identity: str) -> Conversation:
    text = data.decode("utf-8", "replace").lstrip("\ufeff")
    if text.lstrip()[:1] == "[":
        try:
            records = loads(text)
        except ValueError:
            records = [None]
        return conversation_of(identity, records if isinstance(records, list) else [None])
    return conversation_of(identity, parse_lines(text.encode("utf-8", "replace")))


def _split_turn(turn: Turn) -> Sequence[ConversationTurn]:
    """Split a transcript's turn into the user's text, late results, the answer, and its tool calls."""
    turns = [
        ConversationTurn(0, "user", entry.text) for entry in turn.user_texts if entry.kind in _USER_KINDS
    ]
    turns += [_tool_turn(call) for call in turn.late]
    if turn.texts:
        turns.append(ConversationTurn(0, "assistant", "\n\n".join(turn.texts)[:_MAX_CONTENT]))
    return turns + [_tool_turn(call) for call in turn.calls if call.result is not None]


def _tool_turn(call: Call) -> ConversationTurn:
    arguments = call.text("command") or call.text("file_path") or dumps(call.input)
    content = "%s %s\n%s" % (call.name, arguments[:_MAX_INPUT], call.result or "")
    return ConversationTurn(0, "tool", content[:_MAX_CONTENT], call.failed)
