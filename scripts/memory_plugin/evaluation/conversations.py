"""Read conversations from Claude Code's transcripts, and from files of other programs.

A turn is `{"turn": 1, "role": "user", "content": "..."}`, one a line or all in an array; the content may be a list of blocks as in the
APIs. A conversation is an object that holds its turns, by itself, one a line or in an array, with `tier` if a benchmark has tiers. Tool
turns contain a tool's call and output; claims of work are checked against them. What cannot be read is counted, because a gate that did
not read a turn must not pass it.
"""

from __future__ import annotations

import io
import re
import sys
from itertools import groupby
from operator import itemgetter
from typing import NamedTuple

from ..kernel.fastjson import as_integer, as_object, dumps
from ..kernel.text import cut_before, without_private
from ..kernel.transcript import parse_row
from ..kernel.transcript.reader import Lines, Reader, open_transcript
from ..kernel.transcript.turn import Call, Turn
from . import conversation_formats as formats

STDIN = "-"
_TOOLS = "Bash|Read|Edit|Write|MultiEdit|NotebookEdit|Grep|Glob|LS|Task|Agent|Skill|PowerShell|WebFetch"
_CALL = re.compile(r"(?:\$|mcp__\w+|%s)(?:[ (:]|$)" % _TOOLS)
_MAX_BYTES = 200_000_000
_MAX_CONTENT = 200_000  # characters kept of a tool's output
_MAX_INPUT = 4_000  # characters kept of a tool call's input


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
        length = self.call_length
        return self.content.partition("\n")[0] if length is None else self.content[:length]

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
    data = formats.in_utf8(data)
    if any(isinstance(row.get("message"), dict) for row in Lines(io.BytesIO(data))):
        transcript = _transcript(data, identity)
        if transcript.turns or transcript.skipped:
            return [transcript]
    found = formats.split_conversations(data)
    numbered = ["%s:%d" % (identity, place) for place, _ in enumerate(found, 1)]
    return list(map(conversation_of, [identity] if len(found) == 1 else numbered, found))


def _transcript(data: bytes, identity: str) -> Conversation:
    turns = [turn for transcript_turn in Reader(io.BytesIO(data)) for turn in _split_turn(transcript_turn)]
    numbered = (turn._replace(number=place) for place, turn in enumerate(turns, 1))
    *lines, _ = data.split(b"\n")  # the client may still be writing the last one
    filled = ((place, line) for place, line in enumerate(lines, 1) if line.strip(b" \t\r\0"))
    skipped = [place for place, line in filled if parse_row(line) is None]
    return Conversation(identity, tuple(numbered), tuple(skipped))


def conversation_of(identity: str, source: object) -> Conversation:
    """Build a conversation from parsed turns, or from an object that holds them; the places of anything else are skipped."""
    entries = formats.in_order(source) if isinstance(source, list) else [source]
    turns: list[ConversationTurn] = []
    skipped, said = [], []
    records = (turn for entry in entries for turn in formats.turns_of(entry) or [entry])
    for place, record in enumerate(records, 1):
        texts, fields = formats.texts_of(record), as_object(record)
        turns += _turns(texts, as_integer(fields.get("turn")), fields.get("failed") is True, len(turns) + 1)
        skipped += [place] if None in map(itemgetter(1), texts) else []
        said += texts
    fields = as_object(source)
    skipped += [len(turns) + 1] if not skipped and formats.may_hold_more(entries, said) else []
    first = as_object(next(iter(entries), None))
    name = formats.field_of(first, "conversation_fields" if isinstance(source, list) else "id_fields")
    name = name if isinstance(name, (str, int)) else identity
    tier = formats.field_of({**as_object(first.get("metadata")), **first}, "tier_fields")
    return Conversation(str(name), tuple(turns), tuple(skipped), "" if tier is None else str(tier))


def _turns(texts: formats.Texts, number: int | None, failed: bool, place: int) -> list[ConversationTurn]:
    """Return the turns with these texts, one for each change of the role."""
    turns = []
    for role, group in groupby(texts, itemgetter(0)):
        known = [text for _, text in group if text is not None]
        if known:
            text = without_private("\n".join(filter(None, known)))
            turns.append(ConversationTurn(place if number is None else number, role, text, failed))
    return turns


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
