"""Read conversations from Claude Code's transcripts and from JSON in the usual spellings.

A turn is `{"turn": 1, "role": "user", "content": "..."}`, one a line or all in an array; the content may be a list of blocks as in the
APIs. A conversation is an object that holds its turns, by itself, one a line or in an array, with `tier` if a benchmark has tiers. Tool
turns contain a tool's call and output; claims of work are checked against them. What cannot be read is counted, because a gate that did
not read a turn must not pass it.
"""

from __future__ import annotations

import io
import re
import sys
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from ..kernel.fastjson import as_integer, dumps, loads
from ..kernel.text import cut_before, without_private
from ..kernel.transcript import parse_row
from ..kernel.transcript.reader import Lines, Reader, open_transcript
from ..kernel.transcript.turn import Call, Turn

STDIN = "-"
ROLES = ("user", "assistant", "tool", "system")
_SPELLINGS = {
    **{role: role for role in ROLES},
    **dict.fromkeys(("human", "person", "client", "caller", "patient", "caregiver", "prompt"), "user"),
    **dict.fromkeys(("model", "ai", "bot", "agent", "chatbot", "gpt", "claude", "gemini"), "assistant"),
    **dict.fromkeys(("companion", "response", "reply", "completion"), "assistant"),
    **dict.fromkeys(("function", "tool_result", "observation"), "tool"),
    "developer": "system",
}
_ROLE_FIELDS = ("role", "from", "speaker", "author", "sender", "type")
_TEXT_FIELDS = ("content", "text", "message", "value", "parts", "body", "utterance", "output")
_TURNS_FIELDS = ("turns", "messages", "conversation", "conversations", "dialogue", "dialog", "sessions")
_TOOLS = "Bash|Read|Edit|Write|MultiEdit|NotebookEdit|Grep|Glob|LS|Task|Agent|Skill|PowerShell|WebFetch"
_SILENT_BLOCKS = frozenset(("tool_use", "thinking", "redacted_thinking", "reasoning", "tool_call"))
_CALL = re.compile(r"(?:\$|mcp__\w+|%s)(?:[ (:]|$)" % _TOOLS)
_MAX_NESTING = 4
_MAX_BYTES = 200_000_000
_MAX_CONTENT = 200_000  # characters kept of a tool's output
_MAX_INPUT = 4_000  # characters kept of a tool call's input
_FIRST_ROWS = 200  # of a transcript, one of which holds a message


class ConversationTurn(NamedTuple):
    """One turn. `number` is from the file, or counts from 1; `failed` marks a tool call that failed.

    `call_length` is the number of characters of a tool turn that are the call; None if that is its first line, or nothing tells them apart.
    """

    number: int
    role: str
    content: str
    failed: bool = False
    call_length: int | None = None
    replaced: str = ""

    @property
    def call(self) -> str:
        """Return a tool turn's call."""
        return (
            self.content.partition("\n")[0] if self.call_length is None else self.content[: self.call_length]
        )

    @property
    def output(self) -> str:
        """Return what a tool put out, or the text of another turn."""
        if self.call_length is not None:
            return self.content[self.call_length :]
        return self.content.partition("\n")[2] if _CALL.match(self.content) else self.content


class Conversation(NamedTuple):
    """The turns in order, without text between <private> tags; `skipped` are the places that could not be read, `tier` may be empty."""

    id: str
    turns: tuple[ConversationTurn, ...]
    skipped: tuple[int, ...] = ()
    tier: str = ""


def read_conversations(path: str) -> list[Conversation]:
    """Read the conversations in a file of any form, or on standard input. Raises OSError and Unreadable."""
    if path == STDIN:
        return parse_conversations(sys.stdin.buffer.read(_MAX_BYTES), "stdin")
    with open_transcript(path) as file:
        return parse_conversations(file.read(_MAX_BYTES), path)


def parse_conversations(data: bytes, identity: str) -> list[Conversation]:
    """Return the conversations in a file's content: at least one, which may have no turns."""
    data = data.removeprefix(b"\xef\xbb\xbf")
    rows = islice(Lines(io.BytesIO(data)), _FIRST_ROWS)
    if any(isinstance(row.get("message"), dict) for row in rows):
        return [_transcript(data, identity)]
    records = _records(data)
    if not any(map(_turns_of, records)):
        return [conversation_of(identity, records)]
    single = len(records) == 1
    return [
        conversation_of(identity if single else "%s:%d" % (identity, place), record)
        for place, record in enumerate(records, 1)
    ]


def _records(data: bytes) -> list[object]:
    """Return the records of one array or object, which may span lines, or of JSON lines."""
    try:
        whole = loads(data.decode("utf-8", "replace"))
    except ValueError:
        return list(parse_lines(data))
    return whole if isinstance(whole, list) else [whole]


def _transcript(data: bytes, identity: str) -> Conversation:
    turns = [turn for transcript_turn in Reader(io.BytesIO(data)) for turn in _split_turn(transcript_turn)]
    numbered = (turn._replace(number=place) for place, turn in enumerate(turns, 1))
    *lines, _ = data.split(b"\n")  # the client may still be writing the last one
    skipped = [
        place for place, line in enumerate(lines, 1) if line.strip(b" \t\r\0") and parse_row(line) is None
    ]
    return Conversation(identity, tuple(numbered), tuple(skipped))


def parse_lines(data: bytes) -> Iterator[object]:
    """Yield the JSON value of each line that is not blank, or None for a line that is not JSON."""
    for line in data.decode("utf-8", "replace").split("\n"):
        if line.strip():
            try:
                yield loads(line)
            except ValueError:
                yield None


def conversation_of(identity: str, source: object) -> Conversation:
    """Build a conversation from parsed turns, or from an object that holds them; the places of anything else are skipped."""
    records = _turns_of(source) if isinstance(source, dict) else source
    fields = source if isinstance(source, dict) else {}
    turns: list[ConversationTurn] = []
    skipped = []
    for place, record in enumerate(records if isinstance(records, list) else [records], 1):
        read = _read_turns(record, len(turns) + 1)
        turns += read or ()
        skipped += [] if read is not None else [place]
    name, tier = (fields.get(field) for field in ("id", "tier"))
    name = name if isinstance(name, (str, int)) and name != "" else identity
    return Conversation(str(name), tuple(turns), tuple(skipped), "" if tier is None else str(tier))


def _turns_of(record: object, depth: int = 0) -> list[object]:
    """Return the turns that an object holds, those of its sessions one after the other; empty if it holds none."""
    if not isinstance(record, dict) or depth > _MAX_NESTING:
        return []
    inner: list[object] = next(
        (record[field] for field in _TURNS_FIELDS if isinstance(record.get(field), list)), []
    )
    return [turn for entry in inner for turn in _turns_of(entry, depth + 1) or [entry]]


def _role(value: object) -> str:
    if isinstance(value, dict):
        value = value.get("role") or value.get("name")
    return _SPELLINGS.get(value.strip().lower(), "") if isinstance(value, str) else ""


def _read_turns(record: object, place: int) -> list[ConversationTurn] | None:
    """Return the turns in a record: one, or a question and its answer by their roles; None if it cannot be read whole."""
    if not isinstance(record, dict):
        return None
    role = next(filter(None, (_role(record.get(field)) for field in _ROLE_FIELDS)), "")
    if role:
        given = [record[field] for field in _TEXT_FIELDS if record.get(field) is not None]
        parts = [(role, given[0] if given else [] if record.get("tool_calls") else None)]
    else:
        parts = [(_role(key), value) for key, value in record.items() if _role(key)]
    number, failed = as_integer(record.get("turn")), record.get("failed") is True
    turns = [
        ConversationTurn(place if number is None else number, role, without_private(text), failed)
        for role, text in ((role, _text(value)) for role, value in parts)
        if text is not None
    ]
    return turns if turns and len(turns) == len(parts) else None


def _text(value: object) -> str | None:
    """Return the text of a content: a text, an object with one, or blocks; None if a part of it is no text."""
    if isinstance(value, list):
        blocks = [
            block for block in value if not (isinstance(block, dict) and block.get("type") in _SILENT_BLOCKS)
        ]
        texts = [_text(block) for block in blocks]
        return None if None in texts else "\n".join(filter(None, texts))
    if isinstance(value, dict):
        return next((_text(value[field]) for field in _TEXT_FIELDS if value.get(field) is not None), None)
    return value if isinstance(value, str) else None


def _split_turn(turn: Turn) -> list[ConversationTurn]:
    """Split a transcript's turn into the user's text, late results, the answer, and its tool calls.

    The summary of a compacted session is a turn of the system: what it stands for is not in the transcript.
    """
    turns = [
        ConversationTurn(0, "system" if entry.kind == "summary" else "user", without_private(entry.text))
        for entry in turn.user_texts
        if entry.kind in ("prompt", "command", "summary")
    ]
    turns += [_tool_turn(call) for call in turn.late]
    if turn.texts:
        turns.append(ConversationTurn(0, "assistant", without_private("\n\n".join(turn.texts))))
    return turns + [_tool_turn(call) for call in turn.calls if call.result is not None]


def _tool_turn(call: Call) -> ConversationTurn:
    arguments = call.text("command") or _file_arguments(call) or dumps(call.input)
    made = without_private("%s %s\n" % (call.name, arguments[: cut_before(arguments, _MAX_INPUT)]))
    output = without_private((call.result or "")[:_MAX_CONTENT])
    replaced = without_private(call.text("old_string")[:_MAX_INPUT])
    return ConversationTurn(0, "tool", made + output, call.failed, len(made), replaced)


def _file_arguments(call: Call) -> str:
    """Return the file of a call, then what is read or written there, a line each; empty if it names no file."""
    file = call.text("file_path")
    others = ("%s: %s" % pair for pair in call.input.items() if pair[0] not in ("file_path", "old_string"))
    return file and "\n".join((file, *others))
