"""The turns of a transcript with their texts and tool calls, and totals over all turns."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


# The fields of a message's usage; all but the output are parts of its input.
USAGE = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")


class Call:
    """One tool call.

    `result` is the text of its result, None until there is one; `failed` is the client's error flag; `details` is the client's own record
    of the result, of any shape; `turn` is the number of the turn that made the call.
    """

    __slots__ = ("details", "failed", "id", "input", "name", "result", "turn")

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


class UserText:
    """A text in the user's place before an answer: `kind` is prompt, command, interrupt, summary, local or notice."""

    __slots__ = ("kind", "text")

    def __init__(self, kind: str, text: str) -> None:
        self.kind = kind
        self.text = text


class Turn:
    """One answer of the model, counted as by the client's `--max-turns`.

    `user_texts` are the texts before the answer. `usage` maps the names of USAGE to tokens; it is None if the transcript does not record
    usage, or recorded it at an earlier turn with the same message. `late` are calls of earlier turns whose results came only now.
    `answered` is False for a prompt without an answer. `thought` is the number of characters of thinking, whose text only old clients keep.
    """

    __slots__ = (
        "answered", "calls", "late", "message", "model", "number", "texts", "thought", "time", "tokens", "usage",
        "user_texts", "version",
    )  # fmt: skip

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
        self.thought = 0
        self.tokens = 0.0

    @property
    def prompt(self) -> str:
        """Return the prompts before this answer, one a line; empty if there are none."""
        return "\n".join(entry.text for entry in self.user_texts if entry.kind == "prompt")

    @property
    def is_empty(self) -> bool:
        """Return whether the turn has no content."""
        return not (self.answered or self.user_texts or self.late)


class Totals:
    """Totals of a transcript, complete after all its turns have been read.

    `usage` counts each message once; `context` is the largest input of one call, in tokens; `estimated` is the sum of all texts, calls and
    results in tokens, by `tokens_of`. `session` is the last id in the file, because a resumed session begins with rows of other sessions.
    """

    __slots__ = (
        "api_errors", "bad", "boundaries", "branch", "chain", "context", "dropped", "ended", "estimated", "folder", "messages", "models",
        "records", "repeated", "session", "side", "started", "summaries", "turns", "unresolved", "usage", "versions",
    )  # fmt: skip

    def __init__(self) -> None:
        self.records = self.bad = self.repeated = self.side = self.dropped = 0
        self.turns = self.messages = self.api_errors = self.boundaries = self.summaries = self.unresolved = 0
        self.context = 0
        self.estimated = 0.0
        self.usage = dict.fromkeys(USAGE, 0)
        self.models: dict[str, int] = {}
        self.versions: list[str] = []
        self.session = self.folder = self.branch = self.started = self.ended = ""
        self.chain: bool | None = None

    @property
    def compactions(self) -> int:
        """Return how often the context was compacted; old clients write a summary without a boundary."""
        return max(self.boundaries, self.summaries)

    def mark(self, record: dict[str, Any]) -> None:
        """Record a row's session, branch, folder, time and client version."""
        if record.get("sessionId") != self.session:
            self.session = _text(record, "sessionId") or self.session
        if record.get("gitBranch") != self.branch:
            self.branch = _text(record, "gitBranch") or self.branch
        self.folder = self.folder or _text(record, "cwd")
        time = _text(record, "timestamp")
        if time:
            self.started = self.started or time
            self.ended = time
        if record.get("version") not in self.versions and len(self.versions) < 20:
            self.versions += filter(None, [_text(record, "version")])

    def close(self, turn: Turn) -> None:
        """Add a complete turn."""
        self.turns += 1
        self.estimated += turn.tokens
        if turn.usage is None:
            return
        self.messages += 1
        for name in USAGE:
            self.usage[name] += turn.usage[name]
        self.context = max(self.context, sum(turn.usage.values()) - turn.usage["output_tokens"])
        if turn.model in self.models or len(self.models) < 20:
            self.models[turn.model] = self.models.get(turn.model, 0) + 1


class RecentSet:
    """A bounded set of recent items: at least the last 100,000, at most twice as many."""

    __slots__ = ("_new", "_old")

    _MAX_RECENT = 100_000

    def __init__(self) -> None:
        self._old: set[int] = set()
        self._new: set[int] = set()

    def seen(self, item: object) -> bool:
        """Return whether an item was added before, and add it."""
        key = hash(item)
        was_added = key in self._new or key in self._old
        self._new.add(key)
        if len(self._new) >= self._MAX_RECENT:
            self._old, self._new = self._new, set()
        return was_added


def _text(record: dict[str, Any], key: str) -> str:
    value = record.get(key)
    return value[:1000] if isinstance(value, str) else ""
