"""The turns of a transcript with their texts and tool calls, totals over all turns, and the text of a message's content.

Tokens are estimated, because the provider's tokenizer is not public.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ..fastjson import as_text
from . import blocks_of

# The fields of a message's usage; all but the output are parts of its input.
USAGE = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
_MAX_TEXT = 200_000  # characters of one text or result, from both ends
_MEDIA = ("image", "document")
_SHELLS = ("Bash", "PowerShell")


class Call:
    """One tool call.

    `result` is the text of its result, None until there is one; `failed` is the client's error flag; `details` is the client's own record
    of the result, of any shape; `turn` is the number of the turn that made the call.
    """

    def __init__(self, call_id: str, name: str, arguments: dict[str, Any], turn: int) -> None:
        self.id = call_id
        self.name = name
        self.input = arguments
        self.turn = turn
        self.result: str | None = None
        self.failed = False
        self.details: Any = None

    def text(self, key: str) -> str:
        """Return the text under a key of the input; empty if it is no text."""
        value = self.input.get(key, "")
        return value if value.__class__ is str else ""

    @property
    def command(self) -> str:
        """Return the command of a shell call; empty for other tools."""
        return self.text("command") if self.name in _SHELLS else ""


class UserText(NamedTuple):
    """A text in the user's place before an answer: `kind` is prompt, command, interrupt, summary, local or notice.

    `time` is the row's, and `offset` is where its line begins in what was read, in bytes. `untyped` says that the user
    did not type a prompt: Claude suggested it, or the client wrote it.
    """

    kind: str
    text: str
    time: str = ""
    offset: int = 0
    untyped: bool = False


class Turn:
    """One answer of the model, counted as by the client's `--max-turns`.

    `user_texts` are the texts before the answer. `usage` maps the names of USAGE to tokens; it is None if the transcript does not record
    usage, or recorded it at an earlier turn with the same message. `late` are calls of earlier turns whose results came only now.
    `answered` is False for a prompt without an answer.
    """

    def __init__(self, number: int) -> None:
        self.number = number
        self.answered = False
        self.message = ""
        self.model = ""
        self.version = ""
        self.time = ""
        self.user_texts: list[UserText] = []
        self.texts: list[str] = []
        self.calls: list[Call] = []
        self.late: list[Call] = []
        self.usage: dict[str, int] | None = None

    @property
    def prompt(self) -> str:
        """Return the prompts before this answer, one a line; empty if there are none."""
        return "\n".join(entry.text for entry in self.user_texts if entry.kind == "prompt")


class Totals:
    """Totals of a transcript, complete after all its turns have been read.

    `usage` counts each message once; `context` is the largest input of one call, in tokens. `session` is the last id in the file, because
    a resumed session begins with rows of other sessions.
    """

    def __init__(self) -> None:
        self.bad = self.turns = self.context = 0
        self.usage = dict.fromkeys(USAGE, 0)
        self.models: dict[str, int] = {}
        self.session = self.folder = self.started = self.ended = self.title = self.branch = ""
        self.chain: bool | None = None

    def mark(self, record: dict[str, object]) -> None:
        """Record a row's session, folder, branch and time."""
        self.session = _field(record, "sessionId") or self.session
        self.folder = self.folder or _field(record, "cwd")
        self.branch = _field(record, "gitBranch") or self.branch
        time = _field(record, "timestamp")
        if time:
            self.started = self.started or time
            self.ended = time

    def close(self, turn: Turn) -> None:
        """Add a complete turn."""
        self.turns += 1
        if turn.usage is None:
            return
        for name in USAGE:
            self.usage[name] += turn.usage[name]
        self.context = max(self.context, sum(turn.usage.values()) - turn.usage["output_tokens"])
        if turn.model in self.models or len(self.models) < 20:
            self.models[turn.model] = self.models.get(turn.model, 0) + 1


def _field(record: dict[str, object], key: str) -> str:
    return as_text(record.get(key))[:1000]


def words(content: object) -> str:
    """Return the text of a message or of a tool result, with a mark for each image and document; empty for results inside a message."""
    return "\n".join(filter(None, map(_text, blocks_of(content))))


def _text(block: dict[str, object]) -> str:
    kind = str(block.get("type"))
    return as_text(block.get("text")) or ("[%s]" % kind if kind in _MEDIA else "")


def bounded(text: object) -> str:
    """Return a text, without its middle if it is longer than 200,000 characters; empty for anything else."""
    if not isinstance(text, str):
        return ""
    if len(text) <= _MAX_TEXT:
        return text
    from ..text import cut_after, cut_before, without_private

    text = without_private(text)  # its tags could be in the middle
    half = _MAX_TEXT // 2
    return text[: cut_before(text, half)] + "\n[...]\n" + text[cut_after(text, max(0, len(text) - half)) :]
