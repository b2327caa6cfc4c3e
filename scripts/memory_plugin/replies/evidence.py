"""What happened in a turn before its reply: the user's message and the tool calls in short, which is the evidence that the agent had."""

from __future__ import annotations

from ..kernel.native import dumps
from ..kernel.transcript.kinds import PROMPT
from ..kernel.transcript.reader import turns_since_prompt
from ..kernel.transcript.tail import COMMAND

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..kernel.transcript.turn import Call

__all__ = ["turn_so_far"]

_TAIL_BYTES = 2 << 20
_ARGUMENT, _RESULT = 100, 100  # characters


def turn_so_far(path: str) -> tuple[str, list[str]]:
    """What the user said last, and each tool call since as `name(arguments) -> result`; empty where the transcript does not tell."""
    message = ""
    calls: list[str] = []
    for turn in turns_since_prompt(path, _TAIL_BYTES):
        said = [said.text for said in turn.said if said.kind in (PROMPT, COMMAND)]
        if said:
            message, calls = "\n".join(said), []
        calls += [_line(call) for call in turn.calls]
    return message, calls


def _line(call: Call) -> str:
    return "%s(%s) -> %s" % (call.name, _arguments(call), _result(call))


def _result(call: Call) -> str:
    if call.result is None:
        return "no result"
    return ("error: " if call.failed else "") + " ".join(call.result[: 4 * _RESULT].split())[:_RESULT]


def _arguments(call: Call) -> str:
    try:
        return dumps(call.input)[:_ARGUMENT]
    except (TypeError, ValueError):
        return ""
