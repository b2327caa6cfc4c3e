r"""Answers from a file, without network and key: `judge/script.json` in the state folder. For tests and trials.

    {"replies": [{"rubric": "relevance", "text": "{\"relevant\": [0]}"},
                 {"failure": "overloaded", "delay": 0.1}]}

The first reply whose `rubric`, if given, matches the question is used, after `delay` seconds: its `text`, or its `failure`.
"""

from __future__ import annotations

from time import sleep
from typing import TYPE_CHECKING

from ...fastjson import loads
from ...files import read_regular
from ..calls import value_at
from ..errors import JudgeError

if TYPE_CHECKING:
    from ...clock import Deadline
    from ..calls import CallOutcome, JudgeCall

ENDPOINT = None
_MAX_BYTES = 1 << 20


def answer(call: JudgeCall, deadline: Deadline, outcome: CallOutcome) -> None:
    """Answer a call by filling in its outcome. Raises JudgeError; `no_script` if no reply matches."""
    reply = _reply(call.script, call.question.rubric.id)
    delay = value_at(reply, "delay")
    if isinstance(delay, (int, float)) and delay > 0:
        sleep(min(float(delay), deadline.remaining()))
    if deadline.remaining() <= 0:
        raise JudgeError("timeout")
    failure = value_at(reply, "failure")
    if failure:
        raise JudgeError(str(failure))
    outcome.text = str(value_at(reply, "text") or "")
    outcome.tokens_in = outcome.tokens_out = 0


def _reply(path: str, rubric: str) -> dict[str, object]:
    try:
        script = loads(read_regular(path, _MAX_BYTES)[0].decode("utf-8"))
    except (OSError, ValueError):
        raise JudgeError("no_script", "no readable script at %s" % path) from None
    replies = value_at(script, "replies")
    for reply in replies if isinstance(replies, list) else ():
        if isinstance(reply, dict) and reply.get("rubric", rubric) == rubric:
            return reply
    raise JudgeError("no_script", "no reply for %s in %s" % (rubric, path))
