"""Ask models for an evaluation: a jury that scores conversations, and a subject that replies in scenarios.

A judge is named `BACKEND:MODEL`. A judge without a key is replaced by one that has a key, with another persona, and the result says so.
"""

from __future__ import annotations

from collections import Counter
from threading import Thread
from typing import TYPE_CHECKING, Any, NamedTuple

from ..kernel.context import Context
from ..kernel.data import load_data
from ..kernel.fastjson import digest, dumps
from ..kernel.judge.asking import judge_for
from ..kernel.judge.excerpts import excerpt
from ..kernel.judge.question import Question, Rubric, Verdict
from ..kernel.judge.vendors import BACKENDS
from .conversation import Conversation
from .evaluation_files import EvaluationError, read_object, shipped_path
from .evaluation_rubric import rubric_question

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..kernel.clock import Deadline
    from ..kernel.judge.asking import Judge
    from .conversation import ConversationTurn
    from .evaluation_rubric import EvaluationRubric

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
    """One member of the jury: the judge, its persona, and the name of the judge that it replaces, or empty."""

    judge: Judge
    name: str
    persona: str
    instead_of: str


class Vote(NamedTuple):
    """A juror's answer."""

    juror: Juror
    verdict: Verdict


def judge_at(context: Context, name: str, off: str) -> Judge:
    """Return the judge `BACKEND:MODEL`; `off` is a reason not to ask it, or empty. Raises EvaluationError for an unknown backend.

    The settings' address and key variable belong to the settings' backend. Any other backend is asked at its public address, with its usual
    key variable.
    """
    backend, _, model = name.partition(":")
    if backend not in BACKENDS or not model:
        raise EvaluationError("%s: expected BACKEND:MODEL, with one of %s" % (name, ", ".join(BACKENDS)))
    values: dict[str, object] = {"judge.backend": backend}
    if backend != context.settings.text("judge.backend"):
        values.update({"judge.base_url": "", "judge.key_variable": ""})
    settings = context.settings.with_values(values)
    varied = Context(context.paths, settings, context.deadline, context.session)
    return judge_for(FEATURE, varied, model=model, off=off)


def choose_jurors(context: Context, names: Sequence[str], off: str) -> list[Juror]:
    """Return the jury; judges that have a key take turns in replacing those without one."""
    judges = [judge_at(context, name, off) for name in names]
    failures = [judge.unready() for judge in judges]
    ready = [place for place, failure in enumerate(failures) if failure is None]
    personas = [" ".join(entry["system"]) for entry in load_data("judges", "personas")["personas"]]
    jurors_of_model: Counter[str] = Counter()
    jurors = []
    for place, (name, failure) in enumerate(zip(names, failures)):
        is_replaced = failure is not None and failure.failure == "no_key" and bool(ready)
        at = ready[place % len(ready)] if is_replaced else place
        jurors_of_model[names[at]] += 1
        # A model's first juror has no persona; each further one gets the next persona.
        count = jurors_of_model[names[at]]
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
    """Ask all jurors concurrently; return their votes in order. `fresh` ignores cached answers.

    The vote of a juror that has not answered a second after the deadline is `timeout`.
    """
    material = jury_material(conversation)
    verdicts = [Verdict(None, "timeout") for _ in jurors]

    def ask(place: int, judge: Judge, question: Question) -> None:
        verdicts[place] = judge.ask(question, deadline, retry=True, fresh=fresh)

    threads = []
    for place, juror in enumerate(jurors):
        question = rubric_question(rubric, juror.persona, material)
        # A daemon thread, because one that hangs must not keep the process alive.
        threads.append(Thread(target=ask, args=(place, juror.judge, question), daemon=True))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(deadline.remaining() + 1)
    return [Vote(juror, verdict) for juror, verdict in zip(jurors, verdicts)]


def jury_material(conversation: Conversation) -> dict[str, object]:
    """Return the redacted material for a jury: the first ten and the last turns, sixty in all, each shortened."""
    turns = list(conversation.turns)
    left_out = max(0, len(turns) - _MAX_TURNS)
    if left_out:
        turns = turns[:_FIRST_TURNS] + turns[_FIRST_TURNS - _MAX_TURNS :]
    excerpts = [
        {
            "turn": turn.number,
            "role": turn.role,
            "content": excerpt(turn.content, _TURN_CHARACTERS[turn.role]),
        }
        for turn in turns
    ]
    return {"turns": excerpts, "turns_left_out": left_out}


def subject_of(judge: Judge, deadline: Deadline) -> Callable[[Sequence[ConversationTurn]], str]:
    """Return a function from the turns so far to the reply of the model under test; it raises EvaluationError if there is no reply.

    The subject is asked in the same way as a judge, so budget, redaction and the ledger of calls apply to it too.
    """
    raw = read_object(shipped_path("", "subject"))
    system, closing = "\n".join(raw["system"]), "\n".join(raw["closing"])
    identity = digest(dumps(raw).encode("ascii"), 6)
    rubric = Rubric("subject", system, closing, _REPLY_SCHEMA, raw["max_tokens"], identity)

    def reply(turns: Sequence[ConversationTurn]) -> str:
        question = Question(rubric, jury_material(Conversation("", tuple(turns), 0)), _read_reply)
        verdict = judge.ask(question, deadline, retry=True, fresh=True)
        if verdict.values is None:
            raise EvaluationError(
                "the subject %s:%s did not reply: %s" % (judge.backend, judge.model, verdict.failure)
            )
        return str(verdict.values["reply"])

    return reply


def _read_reply(values: dict[str, Any]) -> dict[str, Any] | None:
    reply = values.get("reply")
    return {"reply": reply} if isinstance(reply, str) and reply.strip() else None
