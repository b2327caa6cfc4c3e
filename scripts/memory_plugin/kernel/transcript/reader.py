"""Read the turns of a transcript as a stream: only one turn is held in memory, however long the file.

    with open_transcript(path) as file:
        reader = Reader(file)
        for turn in reader: ...
    reader.totals

The rows of all client versions are supported. One answer spans several rows with the same `message.id`, each repeating the usage. Content
is a text, a list or missing. Sub-agents write into the same file or into their own. A resumed session repeats the rows of earlier ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import IO

from ..fastjson import as_integer, as_text
from ..files import Unreadable, open_regular, seek_tail
from . import SYNTHETIC, blocks_of, inserted_prompt, kind_and_text, message_of, parse_row
from .turn import USAGE, Call, Totals, Turn, UserText, bounded, words

MAX_LINE = 16 << 20  # bytes; two images of the largest size that the client accepts have 14 MB
# `promptSource` of rows in the user's place that the user did not type (measured with 2.1.332), and the field of a plan that Claude wrote.
_UNTYPED = ("suggestion_accepted", "system")
_PLAN = "planContent"
_TITLES = {"ai-title": "aiTitle", "custom-title": "customTitle"}  # kind of row -> its field
_FORWARDED = "mcp__acp__"  # before the names of Claude Code's own tools where an editor runs them

Row = dict[str, object]


def open_transcript(path: str) -> IO[bytes]:
    """Open a transcript for a Reader. Raises FileNotFoundError, and Unreadable if it is not a regular file or may not be read."""
    try:
        return open(path, "rb", buffering=1 << 20, opener=open_regular)
    except FileNotFoundError:
        raise
    except (OSError, ValueError) as error:
        raise Unreadable("%s: %s" % (path, getattr(error, "strerror", None) or error)) from None


def turns_since_prompt(path: str, max_bytes: int = 1 << 20) -> list[Turn]:
    """Return the turns since the last prompt, from a transcript's last `max_bytes` bytes; empty if it cannot be read.

    Turns are numbered from the part that was read, not from the session's beginning.
    """
    turns: list[Turn] = []
    try:
        with open_transcript(path) as file:
            seek_tail(file, max_bytes)
            for turn in Reader(file):
                if turn.prompt:
                    turns = []
                turns.append(turn)
    except OSError:
        return []
    return turns


class Lines:
    """An iterator over the JSON objects in an open file, which is read once, whatever its lines contain.

    Only a line feed ends a line, because U+2028 and similar characters occur inside texts. Cut lines, invalid UTF-8, a byte order mark and
    NUL bytes after a crash are tolerated. `bad` counts the lines without an object, also the pieces of a line above MAX_LINE bytes.
    """

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.bad = 0
        self.offset = 0  # of the current line, from where reading began

    def __iter__(self) -> Iterator[Row]:
        end = 0
        while line := self._file.readline(MAX_LINE):
            self.offset, end = end, end + len(line)
            line = line.strip(b" \t\r\n\0")
            record = parse_row(line) if line else {}
            if record is None:
                self.bad += 1
            elif line:
                yield record


class Reader:
    """An iterator over the turns in an open transcript, which is read once; `totals` is complete at its end.

    It never raises because of the file's content.
    """

    def __init__(self, file: IO[bytes]) -> None:
        self._lines = Lines(file)
        self._turn = Turn(1)
        self._user_texts: list[UserText] = []
        self._pending: dict[str, Call] = {}
        self._rows: set[int] = set()
        self._messages: set[int] = set()
        self.totals = Totals()

    def __iter__(self) -> Iterator[Turn]:
        for record in self._lines:
            kind = as_text(record.get("type"))
            if kind == "assistant" and self._is_main(record):
                yield from self._answer(record)
            elif kind == "user" and self._is_main(record):
                self._user(record)
            elif kind == "attachment":
                prompt = inserted_prompt(record.get("attachment"))
                if prompt is not None and self._is_main(record):
                    self._add_user_text(words(prompt), record)
            elif kind in _TITLES:
                self.totals.title = as_text(record.get(_TITLES[kind]))[:1000] or self.totals.title
        yield from self._close()
        if self._user_texts:
            self._take_user_texts()
            yield from self._close()
        self.totals.bad = self._lines.bad

    def _is_main(self, record: Row) -> bool:
        """Return whether a row belongs to the conversation and is not a copy; in a sub-agent's own file, all rows are side chain rows."""
        # In the client's output stream a sub-agent's row names the call that started the sub-agent.
        side = record.get("isSidechain") is True or isinstance(record.get("parent_tool_use_id"), str)
        totals = self.totals
        if totals.chain is None:
            # A sub-agent's own file names its agent. Old clients wrote its rows, without that, into the session's file.
            totals.chain = side and "agentId" in record
        uuid = record.get("uuid")
        if side is not totals.chain or (isinstance(uuid, str) and _seen(self._rows, uuid)):
            return False
        totals.mark(record)
        return True

    def _answer(self, record: Row) -> Iterator[Turn]:
        message = message_of(record)
        blocks = blocks_of(message.get("content"))
        if record.get("isVirtual") is True or isinstance(record.get("ranByToolUseId"), str):
            # A call of a script that the model wrote (Code Mode, measured with 2.1.332), in a row of the client's own.
            for block in filter(_is_call, blocks):
                self._call(self._turn, block)
            return
        if not message or message.get("model") == SYNTHETIC or record.get("isApiErrorMessage") is True:
            return
        identity = as_text(message.get("id")) or as_text(record.get("uuid"))
        turn = self._turn
        if not (turn.answered and identity and identity == turn.message):
            is_repeated = bool(identity) and _seen(self._messages, identity)
            if is_repeated and not self._has_new_calls(blocks):
                return
            yield from self._close()
            turn = self._begin(record, message, identity)
            turn.usage = None if is_repeated else dict.fromkeys(USAGE, 0)
        if turn.usage is not None:
            _add_usage(turn.usage, message.get("usage"))
        for block in blocks:
            self._block(turn, block)

    def _has_new_calls(self, blocks: list[Row]) -> bool:
        """Return whether the rows of an earlier message continue it, rather than being copies."""
        return any(not _seen(self._rows, ("call", _call_id(block))) for block in filter(_is_call, blocks))

    def _begin(self, record: Row, message: Row, identity: str) -> Turn:
        turn = self._turn
        turn.answered = True
        turn.message = identity
        turn.model = as_text(message.get("model"))[:200]
        turn.version = as_text(record.get("version"))[:50]
        turn.time = as_text(record.get("timestamp"))[:50]
        self._take_user_texts()
        return turn

    def _take_user_texts(self) -> None:
        self._turn.user_texts, self._user_texts = self._user_texts, []

    def _block(self, turn: Turn, block: Row) -> None:
        kind = as_text(block.get("type"))
        if kind == "text":
            text = bounded(block.get("text"))
            if text and text not in turn.texts:  # a copied row
                if turn.texts and text.startswith(turn.texts[-1]):  # the same, streamed further
                    turn.texts.pop()
                turn.texts.append(text)
        elif kind in ("tool_use", "server_tool_use"):
            self._call(turn, block)
        elif kind.endswith("_tool_result"):  # of a tool that the provider runs
            self._result(block, None)

    def _call(self, turn: Turn, block: Row) -> None:
        arguments = block.get("input")
        name = as_text(block.get("name"))[:200].removeprefix(_FORWARDED)
        call = Call(_call_id(block), name, arguments if isinstance(arguments, dict) else {}, turn.number)
        if _seen(self._rows, ("call", call.id)) and _is_rewritten(call, turn):
            return
        turn.calls.append(call)

    def _user(self, record: Row) -> None:
        message = record.get("message")
        content = message.get("content") if isinstance(message, dict) else message
        results = [block for block in blocks_of(content) if block.get("type") == "tool_result"]
        for block in results:
            self._result(block, record.get("toolUseResult"))
        self._add_user_text(words(content), record)

    def _add_user_text(self, text: str, record: Row) -> None:
        if not text or text.isspace():
            return
        kind, text = kind_and_text(record, text)
        time = as_text(record.get("timestamp"))[:50]
        if time and _seen(self._rows, (time, text)):  # copied under a new id
            return
        untyped = record.get("promptSource") in _UNTYPED or _PLAN in record
        self._user_texts.append(UserText(kind, text, time, self._lines.offset, untyped=untyped))

    def _result(self, block: Row, details: object) -> None:
        identity = as_text(block.get("tool_use_id"))[:200]
        call = next((call for call in self._turn.calls if call.id == identity), None)
        if call is None:
            call = self._pending.pop(identity, None)
            if call is None:
                return
            self._turn.late.append(call)
        elif call.result is not None:
            return
        call.result = bounded(words(block.get("content")))
        call.failed = block.get("is_error") is True
        call.details = details

    def _close(self) -> Iterator[Turn]:
        """Yield the current turn if it holds anything, and start an empty one."""
        turn = self._turn
        if not (turn.answered or turn.user_texts or turn.late):
            return
        for call in turn.calls:
            if call.result is None:
                self._pending[call.id] = call
        self.totals.close(turn)
        self._turn = Turn(turn.number + 1)
        yield turn


def _seen(known: set[int], item: object) -> bool:
    """Return whether an item was added before, and add it."""
    count = len(known)
    known.add(hash(item))
    return len(known) == count


def _is_call(block: Row) -> bool:
    return block.get("type") == "tool_use"


def _call_id(block: Row) -> str:
    return as_text(block.get("id"))[:200]


def _is_rewritten(call: Call, turn: Turn) -> bool:
    """Return whether a turn has the call already, because its row is repeated while it streams; keep the more complete input."""
    for at, earlier in enumerate(turn.calls):
        if earlier.id == call.id and call.id:
            if earlier.result is None and len(call.input) > len(earlier.input):
                turn.calls[at] = call
            return True
    return False


def _add_usage(usage: dict[str, int], row_usage: object) -> None:
    """Add the usage in a row. The rows of a message repeat it while the output grows, so the largest numbers are final."""
    if not isinstance(row_usage, dict):
        return
    for name in USAGE:
        tokens = as_integer(row_usage.get(name))
        if tokens is not None and 0 <= tokens < 1 << 40:
            usage[name] = max(usage[name], tokens)
