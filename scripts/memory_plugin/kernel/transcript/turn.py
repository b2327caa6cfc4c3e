"""A turn: one answer of the model, what was said to it before, its tool calls and what came of them."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["USAGE", "Call", "Said", "Turn"]

# The fields of a message's usage; all but the output are parts of its input.
USAGE = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")


class Call:
    """One tool call.

    `result` is the text of its result, None while there is none; `failed` is the client's error mark; `details` is the client's own
    record of the result, of any shape; `turn` is the number of the turn that made the call.
    """

    __slots__ = ("details", "failed", "id", "input", "name", "result", "turn")

    def __init__(self, call_id: str, name: str, given: dict[str, Any], turn: int) -> None:
        self.id = call_id
        self.name = name
        self.input = given
        self.turn = turn
        self.result: str | None = None
        self.failed = False
        self.details: Any = None

    def text(self, key: str) -> str:
        """The text under a key of its input; empty for anything else."""
        value = self.input.get(key, "")
        return value if value.__class__ is str else ""


class Said:
    """What stands in the user's place before an answer: `kind` is prompt, command, interrupt, summary, local or notice."""

    __slots__ = ("kind", "text")

    def __init__(self, kind: str, text: str) -> None:
        self.kind = kind
        self.text = text


class Turn:
    """One answer of the model, as `--max-turns` of the client counts them.

    `said` comes before the answer.  `usage` maps the names of USAGE to tokens, None where the transcript tells nothing or told it at an
    earlier turn with the same message.  `late` holds calls of earlier turns whose results came only now.  `answered` is False for words
    that nothing answered.  `thought` counts characters of thinking, of which old clients keep the text.
    """

    __slots__ = (
        "answered", "calls", "late", "message", "model", "number", "said", "texts", "thought", "time", "tokens", "usage", "version",
    )  # fmt: skip

    def __init__(self, number: int) -> None:
        self.number = number
        self.answered = False
        self.message = ""
        self.model = ""
        self.version = ""
        self.time = ""
        self.said: list[Said] = []
        self.texts: list[str] = []
        self.calls: list[Call] = []
        self.late: list[Call] = []
        self.usage: dict[str, int] | None = None
        self.thought = 0
        self.tokens = 0.0

    @property
    def prompt(self) -> str:
        """What the user typed before this answer, several prompts one below the other; empty when nothing."""
        return "\n".join(said.text for said in self.said if said.kind == "prompt")

    @property
    def empty(self) -> bool:
        """Whether nothing of it can be seen."""
        return not (self.answered or self.said or self.late)
