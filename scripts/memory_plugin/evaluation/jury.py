"""Ask a jury of models about a conversation, and aggregate its votes by dimension.

A judge is named `BACKEND:MODEL`. A judge without a key is replaced by one that has a key, with another persona, and the result says so.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import combinations
from statistics import mean, median, pstdev
from threading import Thread
from typing import Any, NamedTuple

from ..kernel.clock import Deadline
from ..kernel.context import Context
from ..kernel.data import load_data
from ..kernel.judge.asking import Judge, judge_for
from ..kernel.judge.backends import BACKENDS
from ..kernel.judge.excerpts import excerpt
from ..kernel.judge.question import Question, Verdict
from ..kernel.stats import weighted_kappa
from . import EvaluationError
from .conversation import Conversation
from .evaluation_rubric import EvaluationRubric, rubric_question

_MAX_TURNS = 60
_FIRST_TURNS = 10
_TURN_CHARACTERS = {"user": 1500, "assistant": 1500, "tool": 300, "system": 300}


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
    return judge_for("evaluation", varied, model=model, off=off)


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
        # A model's first juror has no persona; each further one gets the next persona.
        earlier = jurors_of_model[names[at]]
        jurors_of_model[names[at]] += 1
        persona = personas[(earlier - 1) % len(personas)] if earlier else ""
        jurors.append(Juror(judges[at], names[at], persona, name if is_replaced else ""))
    return jurors


def ask_jury(
    jurors: Sequence[Juror], rubric: EvaluationRubric, conversation: Conversation, deadline: Deadline
) -> list[Vote]:
    """Ask all jurors concurrently; return their votes in order. That of a juror without an answer in time is `timeout`."""
    material = jury_material(conversation)
    verdicts = [Verdict(None, "timeout") for _ in jurors]

    def ask(place: int, judge: Judge, question: Question) -> None:
        verdicts[place] = judge.ask(question, deadline, retry=True)

    threads = []
    for place, juror in enumerate(jurors):
        question = rubric_question(rubric, juror.persona, material)
        # A daemon thread, because one that hangs must not keep the process alive.
        threads.append(Thread(target=ask, args=(place, juror.judge, question), daemon=True))
        threads[-1].start()
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


def score_dimensions(rubric: EvaluationRubric, votes: Sequence[Vote], quorum: int) -> list[dict[str, Any]]:
    """Aggregate the votes for each dimension, as JSON: each juror's score (None if it abstained or failed), and their aggregate.

    The aggregate is None below the quorum, because unscored is not zero. `range` is the largest score less the smallest.
    """
    answers = [None if vote.verdict.values is None else vote.verdict.values["scores"] for vote in votes]
    rows = []
    for dimension in rubric.dimensions:
        scores = [None if answer is None else answer[dimension.id]["score"] for answer in answers]
        valid = [score for score in scores if score is not None]
        is_scored = len(valid) >= max(quorum, 1)
        row = {
            "dimension": dimension.id,
            "weight": dimension.weight,
            "scores": scores,
            "valid": len(valid),
            "abstained": sum(answer is not None for answer in answers) - len(valid),
            "median": float(median(valid)) if is_scored else None,
            "mean": round(mean(valid), 4) if is_scored else None,
            "sd": round(pstdev(valid), 4) if is_scored else None,
            "range": max(valid) - min(valid) if is_scored else None,
        }
        rows.append(row)
    return rows


def jury_kappa(scores: Sequence[Sequence[int | None]]) -> float | None:
    """Return the mean weighted kappa of all pairs of jurors; `scores` has one row per scored dimension."""
    jurors = max((len(row) for row in scores), default=0)
    kappas = []
    for a, b in combinations(range(jurors), 2):
        pairs = [(row[a], row[b]) for row in scores if len(row) > b]
        kappas.append(weighted_kappa([(x, y) for x, y in pairs if x is not None and y is not None]))
    known = [kappa for kappa in kappas if kappa is not None]
    return round(mean(known), 4) if known else None
