"""Three judges, side by side under one deadline; every judge scores every dimension.

A judge is written `BACKEND:MODEL`.  Where a judge has no key, its seat goes to one that has, with a persona of its
own, and the result says so.
"""

from __future__ import annotations

from threading import Thread
from typing import TYPE_CHECKING, Any, NamedTuple

from ..kernel.judge.backends import BACKENDS
from ..kernel.judge.judge import Judge
from ..kernel.judge.material import excerpt
from ..kernel.judge.question import Verdict
from ..kernel.native import loads
from ..kernel.paths import data_path
from .data import EvaluationError
from .rubric import question

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..kernel.clock import Deadline
    from ..kernel.paths import Places
    from ..kernel.settings.record import Settings
    from .conversation import Conversation
    from .rubric import EvaluationRubric

__all__ = ["Ballot", "Bench", "Seat", "ask_jury", "judge_at", "material", "seats"]

FEATURE = "evaluation"
_TURNS = 60
_FIRST = 10
_TURN_CHARACTERS = {"user": 1500, "assistant": 1500, "tool": 300, "system": 300}


class Seat(NamedTuple):
    """A place in the jury: who sits there, with which persona, and for whom, when that judge has no key."""

    judge: Judge
    name: str
    persona: str
    instead_of: str


class Ballot(NamedTuple):
    """What one seat answered."""

    seat: Seat
    verdict: Verdict


class Bench(NamedTuple):
    """What judges need to be asked."""

    places: Places
    settings: Settings
    session: str
    off: str


def judge_at(bench: Bench, name: str) -> Judge:
    """The judge `BACKEND:MODEL`. Raises EvaluationError for an unknown backend.

    The address and key variable of the settings are those of the settings' own backend; any other one is reached at
    its public address with its usual variable.
    """
    backend, _, model = name.partition(":")
    if backend not in BACKENDS or not model:
        raise EvaluationError("%s: expected BACKEND:MODEL, with one of %s" % (name, ", ".join(BACKENDS)))
    values: dict[str, object] = {"judge.backend": backend}
    if backend != bench.settings.text("judge.backend"):
        values.update({"judge.base_url": "", "judge.key_variable": ""})
    settings = bench.settings.varied(values)
    return Judge(FEATURE, model, bench.places, settings, bench.session, off=bench.off, helper=True)


def seats(bench: Bench, names: Sequence[str]) -> list[Seat]:
    """The jury: who has no key is replaced by those who have, in turn."""
    judges = [judge_at(bench, name) for name in names]
    troubles = [judge.unready() for judge in judges]
    ready = [place for place, trouble in enumerate(troubles) if trouble is None]
    personas = _personas()
    taken: dict[str, int] = {}
    found = []
    for place, (name, trouble) in enumerate(zip(names, troubles)):
        stands_in = trouble is not None and trouble.failure == "no_key" and bool(ready)
        at = ready[place % len(ready)] if stands_in else place
        count = taken[names[at]] = taken.get(names[at], 0) + 1
        persona = personas[(count - 2) % len(personas)] if count > 1 else ""
        found.append(Seat(judges[at], names[at], persona, name if stands_in else ""))
    return found


def _personas() -> list[str]:
    with open(data_path("judges", "personas.json"), encoding="utf-8") as file:
        table: Any = loads(file.read())
    return [" ".join(entry["system"]) for entry in table["personas"]]


def ask_jury(
    jury: Sequence[Seat],
    rubric: EvaluationRubric,
    conversation: Conversation,
    deadline: Deadline,
    *,
    fresh: bool = False,
) -> list[Ballot]:
    """One ballot a seat, all asked side by side; `fresh` passes by what was answered before."""
    sent = material(conversation)

    def asking(seat: Seat) -> Callable[[], Verdict]:
        asked = question(rubric, seat.persona, sent)
        return lambda: seat.judge.ask(asked, deadline, again=True, fresh=fresh)

    verdicts = _side_by_side([asking(seat) for seat in jury], deadline)
    return [Ballot(seat, verdict) for seat, verdict in zip(jury, verdicts)]


def _side_by_side(asks: Sequence[Callable[[], Verdict]], deadline: Deadline) -> list[Verdict]:
    answers: list[Verdict | None] = [None for _ in asks]

    def run(place: int) -> None:
        answers[place] = asks[place]()

    threads = [Thread(target=run, args=(place,), daemon=True) for place in range(len(asks))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(deadline.remaining() + 1)
    return [answer or Verdict(None, "timeout") for answer in answers]


def material(conversation: Conversation) -> dict[str, object]:
    """What is sent of a conversation: redacted, each turn cut short, the first ten and the last turns, sixty in all."""
    turns = list(conversation.turns)
    left_out = max(0, len(turns) - _TURNS)
    if left_out:
        turns = turns[:_FIRST] + turns[_FIRST - _TURNS :]
    shown = [
        {
            "turn": turn.number,
            "role": turn.role,
            "content": excerpt(turn.content, _TURN_CHARACTERS[turn.role]),
        }
        for turn in turns
    ]
    return {"turns": shown, "turns_left_out": left_out}
