"""Read conversations to evaluate, from Claude Code's transcripts or from JSON lines with one turn each.

Such a line is `{"turn": 1, "role": "user", "content": "..."}`; roles are user, assistant, tool and system. Tool turns contain a tool's
output; claims of work are checked against it.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from ..kernel.fastjson import digest, dumps, loads
from ..kernel.text.tags import without_private
from ..kernel.transcript.reader import Reader, open_transcript
from ..kernel.transcript.turn import Call, Turn

STDIN = "-"
ROLES = ("user", "assistant", "tool", "system")
_MAX_BYTES = 200_000_000
_MAX_CONTENT = 200_000  # characters kept of one turn
_MAX_INPUT = 4_000  # characters kept of a tool call's input


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


def read_conversation(path: str) -> Conversation:
    """Read the conversation in a file of either form, or on standard input. Raises OSError and Unreadable."""
    if path == STDIN:
        return parse_conversation(sys.stdin.buffer.read(_MAX_BYTES), "stdin")
    with open_transcript(path) as file:
        return parse_conversation(file.read(_MAX_BYTES), path)


def parse_conversation(data: bytes, identity: str) -> Conversation:
    """Return the conversation in a file's content."""
    data = data.removeprefix(b"\xef\xbb\xbf")
    first = next((record for record in parse_lines(data[: 1 << 16]) if isinstance(record, dict)), {})
    if "role" in first and "message" not in first:  # a transcript's records have a message
        return conversation_of(identity, parse_lines(data))
    turns = [turn for transcript_turn in Reader(io.BytesIO(data)) for turn in _split_turn(transcript_turn)]
    numbered = (
        turn._replace(number=place, content=without_private(turn.content))
        for place, turn in enumerate(turns, 1)
    )
    return Conversation(identity, tuple(numbered), 0)


def parse_lines(data: bytes) -> Iterator[object]:
    """Yield the JSON value of each line that is not blank, or None for a line that is not JSON."""
    for line in data.decode("utf-8", "replace").split("\n"):
        if line.strip():
            try:
                yield loads(line)
            except ValueError:
                yield None


def conversation_of(identity: str, records: Iterable[object]) -> Conversation:
    """Build a conversation from parsed turns; anything else is counted as skipped."""
    turns: list[ConversationTurn] = []
    skipped = 0
    for record in records:
        turn = _turn(record, len(turns) + 1)
        turns += [turn] if turn else []
        skipped += turn is None
    return Conversation(identity, tuple(turns), skipped)


def _turn(record: object, place: int) -> ConversationTurn | None:
    if not isinstance(record, dict) or record.get("role") not in ROLES:
        return None
    content, number = record.get("content"), record.get("turn")
    if not isinstance(content, str):
        return None
    if not isinstance(number, int) or isinstance(number, bool):
        number = place
    content = without_private(content[:_MAX_CONTENT])
    return ConversationTurn(number, record["role"], content, record.get("failed") is True)


def _split_turn(turn: Turn) -> list[ConversationTurn]:
    """Split a transcript's turn into the user's text, late results, the answer, and its tool calls."""
    turns = [
        ConversationTurn(0, "user", entry.text)
        for entry in turn.user_texts
        if entry.kind in ("prompt", "command")
    ]
    turns += [_tool_turn(call) for call in turn.late]
    if turn.texts:
        turns.append(ConversationTurn(0, "assistant", "\n\n".join(turn.texts)[:_MAX_CONTENT]))
    return turns + [_tool_turn(call) for call in turn.calls if call.result is not None]


def _tool_turn(call: Call) -> ConversationTurn:
    arguments = call.text("command") or call.text("file_path") or dumps(call.input)
    content = "%s %s\n%s" % (call.name, arguments[:_MAX_INPUT], call.result or "")
    return ConversationTurn(0, "tool", content[:_MAX_CONTENT], call.failed)
