"""The model under test: it writes the assistant's replies in a scenario, through the same door as every judge."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..kernel.judge.question import Question
from ..kernel.judge.rubric import Rubric
from ..kernel.native import digest, dumps
from .conversation import Conversation
from .data import EvaluationError, read_object, shipped
from .jury import material

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..kernel.clock import Deadline
    from ..kernel.judge.judge import Judge
    from .conversation import Turn

__all__ = ["subject_of"]

_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"reply": {"type": "string"}},
    "required": ["reply"],
    "additionalProperties": False,
}


def subject_of(judge: Judge, deadline: Deadline) -> Callable[[Sequence[Turn]], str]:
    """A function from the turns so far to the model's reply; it raises EvaluationError when there is none."""
    raw = read_object(shipped("", "subject"))
    system, closing = "\n".join(raw["system"]), "\n".join(raw["closing"])
    rubric = Rubric(
        "subject", system, closing, _SCHEMA, raw["max_tokens"], digest(dumps(raw).encode("ascii"), 6)
    )

    def reply(turns: Sequence[Turn]) -> str:
        asked = Question(rubric, material(Conversation("", tuple(turns), 0)), _read)
        verdict = judge.ask(asked, deadline, again=True, fresh=True)
        if verdict.values is None:
            raise EvaluationError(
                "the subject %s:%s did not reply: %s" % (judge.backend, judge.model, verdict.failure)
            )
        return str(verdict.values["reply"])

    return reply


def _read(values: dict[str, Any]) -> dict[str, Any] | None:
    reply = values.get("reply")
    return {"reply": reply} if isinstance(reply, str) and reply.strip() else None
