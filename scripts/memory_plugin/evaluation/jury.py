"""The models that an evaluation asks: a jury that scores conversations side by side, and a subject that replies in scenarios.

A judge is written `BACKEND:MODEL`. A judge without a key is replaced by one that has a key, with another persona, and the result says so.
"""

from __future__ import annotations

from threading import Thread
from typing import TYPE_CHECKING, Any, NamedTuple

from ..kernel.context import Context
from ..kernel.data import load_data
from ..kernel.fastjson import digest, dumps
from ..kernel.judge.asking import judge_for
from ..kernel.judge.backends import BACKENDS
from ..kernel.judge.excerpts import excerpt
from ..kernel.judge.question import Question, Rubric, Verdict
from .conversation import Conversation
from .evaluation_files import EvaluationError, read_object, shipped_path
from .evaluation_rubric import rubric_question

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..kernel.clock import Deadline
    from ..kernel.judge.asking import Judge
    from .conversation import ConversationTurn
    from .evaluation_rubric import EvaluationRubric

__all__ = ["Juror", "Vote", "ask_jury", "choose_jurors", "judge_at", "jury_material", "subject_of"]

FEATURE = "evaluation"
_MAX_TURNS = 60
_FIRST_TURNS = 10
_TURN_CHARACTERS = {"user": 1500, "assistant": 1500, "tool": 300, "system": 300}
_REPLY_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"reply": {"type": "string"}},
    "required": ["reply"],
    "additionalProperties": False,
}


class Juror(NamedTuple):
    """One member of the jury: the judge, its persona, and the judge that it replaces, empty for none."""

    judge: Judge
    name: str
    persona: str
    instead_of: str


class Vote(NamedTuple):
    """A juror's answer."""

    juror: Juror
    verdict: Verdict


def judge_at(context: Context, name: str, off: str) -> Judge:
    """Return the judge `BACKEND:MODEL`; `off` is a reason not to ask it. Raises EvaluationError for an unknown backend.

    The address and key variable of the settings belong to the settings' own backend. Any other one is reached at its public address with
    its usual variable.
    """
    backend, _, model = name.partition(":")
    if backend not in BACKENDS or not model:
        raise EvaluationError("%s: expected BACKEND:MODEL, with one of %s" % (name, ", ".join(BACKENDS)))
    values: dict[str, object] = {"judge.backend": backend}
    if backend != context.settings.text("judge.backend"):
        values.update({"judge.base_url": "", "judge.key_variable": ""})
    settings = context.settings.varied(values)
    varied = Context(context.paths, settings, context.deadline, context.session)
    return judge_for(FEATURE, varied, model=model, off=off)


def choose_jurors(context: Context, names: Sequence[str], off: str) -> list[Juror]:
    """Return the jury; a judge without a key is replaced by those that have one, in turn."""
    judges = [judge_at(context, name, off) for name in names]
    failures = [judge.unready() for judge in judges]
    ready = [place for place, failure in enumerate(failures) if failure is None]
    personas = [" ".join(entry["system"]) for entry in load_data("judges", "personas")["personas"]]
    taken: dict[str, int] = {}
    jurors = []
    for place, (name, failure) in enumerate(zip(names, failures)):
        is_replaced = failure is not None and failure.failure == "no_key" and bool(ready)
        at = ready[place % len(ready)] if is_replaced else place
        count = taken[names[at]] = taken.get(names[at], 0) + 1
        # The first juror of a model is itself; each further one gets the next persona.
        persona = personas[(count - 2) % len(personas)] if count > 1 else ""
        jurors.append(Juror(judges[at], names[at], persona, name if is_replaced else ""))
    return jurors


def ask_jury(
    jurors: Sequence[Juror],
    rubric: EvaluationRubric,
    conversation: Conversation,
    deadline: Deadline,
    *,
    fresh: bool = False,
) -> list[Vote]:
    """Return one vote per juror, all asked side by side; `fresh` ignores cached answers."""
    material = jury_material(conversation)

    def asking(juror: Juror) -> Callable[[], Verdict]:
        question = rubric_question(rubric, juror.persona, material)
        return lambda: juror.judge.ask(question, deadline, again=True, fresh=fresh)

    verdicts = _side_by_side([asking(juror) for juror in jurors], deadline)
    return [Vote(juror, verdict) for juror, verdict in zip(jurors, verdicts)]


def _side_by_side(asks: Sequence[Callable[[], Verdict]], deadline: Deadline) -> list[Verdict]:
    """Return the verdicts in order; `timeout` for one that has not arrived a second after the deadline."""
    answers: list[Verdict | None] = [None for _ in asks]

    def run(place: int) -> None:
        answers[place] = asks[place]()

    # Daemon threads, so that one that hangs does not keep the process alive.
    threads = [Thread(target=run, args=(place,), daemon=True) for place in range(len(asks))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(deadline.remaining() + 1)
    return [answer or Verdict(None, "timeout") for answer in answers]


def jury_material(conversation: Conversation) -> dict[str, object]:
    """Return what is sent of a conversation: redacted, each turn shortened, the first ten and the last turns, sixty in all."""
    turns = list(conversation.turns)
    left_out = max(0, len(turns) - _MAX_TURNS)
    if left_out:
        turns = turns[:_FIRST_TURNS] + turns[_FIRST_TURNS - _MAX_TURNS :]
    shown = [
        {
            "turn": turn.number,
            "role": turn.role,
            "content": excerpt(turn.content, _TURN_CHARACTERS[turn.role]),
        }
        for turn in turns
    ]
    return {"turns": shown, "turns_left_out": left_out}


def subject_of(judge: Judge, deadline: Deadline) -> Callable[[Sequence[ConversationTurn]], str]:
    """Return a function from the turns so far to the reply of the model under test; it raises EvaluationError without one.

    The subject is asked through the same endpoint as a judge, so caps, redaction and the ledger of calls hold for it too.
    """
    raw = read_object(shipped_path("", "subject"))
    system, closing = "\n".join(raw["system"]), "\n".join(raw["closing"])
    identity = digest(dumps(raw).encode("ascii"), 6)
    rubric = Rubric("subject", system, closing, _REPLY_SCHEMA, raw["max_tokens"], identity)

    def reply(turns: Sequence[ConversationTurn]) -> str:
        question = Question(rubric, jury_material(Conversation("", tuple(turns), 0)), _read_reply)
        verdict = judge.ask(question, deadline, again=True, fresh=True)
        if verdict.values is None:
            raise EvaluationError(
                "the subject %s:%s did not reply: %s" % (judge.backend, judge.model, verdict.failure)
            )
        return str(verdict.values["reply"])

    return reply


def _read_reply(values: dict[str, Any]) -> dict[str, Any] | None:
    reply = values.get("reply")
    return {"reply": reply} if isinstance(reply, str) and reply.strip() else None
