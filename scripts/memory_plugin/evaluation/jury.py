"""Ask a jury of models about a conversation by a rubric, and aggregate its votes by dimension.

A rubric is a JSON file with the dimensions that every juror scores, their scale and weights. The weights of gates and dimensions together
must sum to 1. A dimension of weight 0 is reported but does not count.

A judge is named `BACKEND:MODEL`. A judge without a key is replaced by one that has a key, with another persona, and the result says so.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import combinations
from statistics import mean, median, pstdev
from threading import Thread
from typing import Any, NamedTuple

from ..kernel.context import Context, Deadline
from ..kernel.fastjson import as_integer, as_text, digest, dumps
from ..kernel.judge.asking import Judge
from ..kernel.judge.question import Question, Rubric, Verdict, excerpt, read_number, score_fields
from ..kernel.judge.vendors import BACKENDS
from ..kernel.paths import load_data
from ..kernel.settings.schema import schema_problem
from ..kernel.stats import weighted_kappa
from . import EvaluationError, file_path, read_object
from .conversations import Conversation

_MAX_TURNS = 60
_FIRST_TURNS = 10
_TURN_CHARACTERS = {"user": 1500, "assistant": 1500, "tool": 300, "system": 300}
_ABSTAIN = "abstain"
_CRISIS = ("none", "answered", "unanswered")
_TOLERANCE = 1e-6
_MAX_QUOTE = 300


class RubricDimension(NamedTuple):
    """One dimension: the question, and the meaning of each score."""

    id: str
    weight: float
    asks: str
    anchors: Mapping[str, str]


class EvaluationRubric(NamedTuple):
    """A rubric; `gates` are weights. Scores run from 0 to `highest`; a weighted mean of at least `pass_at` (0 to 1) passes."""

    id: str
    dimensions: tuple[RubricDimension, ...]
    gates: Mapping[str, float]
    highest: int
    pass_at: float
    system: str
    closing: str
    max_tokens: int
    digest: str


def load_rubric(name: str) -> EvaluationRubric:
    """Load a rubric by name, or by path if it ends in .json. Raises EvaluationError, also for weights that do not sum to 1."""
    path = file_path("rubrics", name)
    raw = read_object(path)
    problem = schema_problem(load_data("evaluation", "rubric.schema"), raw)
    if problem:
        raise EvaluationError("%s: %s" % (path, problem))
    rubric = EvaluationRubric(
        dimensions=tuple(RubricDimension(key, **entry) for key, entry in raw["dimensions"].items()),
        digest=digest(dumps(raw).encode("ascii"), 6),
        **{name: raw[name] for name in ("id", "gates", "highest", "pass_at", "max_tokens")},
        system="\n".join(raw["system"]),
        closing="\n".join(raw["closing"]),
    )
    total, scores = sum([*(row.weight for row in rubric.dimensions), *rubric.gates.values()]), _scale(rubric)
    if abs(total - 1) > _TOLERANCE:
        raise EvaluationError("%s: the weights must sum to 1, got %g" % (path, total))
    bare = [dimension.id for dimension in rubric.dimensions if {*dimension.anchors} != {*scores}]
    if bare:
        raise EvaluationError("%s: %s: expected anchors for %s" % (path, bare[0], ", ".join(scores)))
    return rubric


def _scale(rubric: EvaluationRubric) -> list[str]:
    return [str(score) for score in range(rubric.highest + 1)]


def rubric_question(rubric: EvaluationRubric, persona: str, material: object) -> Question:
    """Return the question for one juror; every juror scores every dimension."""
    asks = load_data("evaluation", "jury")
    lines = [asks["crisis"], asks["scores"] % (rubric.highest, _ABSTAIN)]
    for dimension in rubric.dimensions:
        lines.append("- %s: %s" % (dimension.id, dimension.asks))
        lines += ["    %s: %s" % (score, dimension.anchors[score]) for score in _scale(rubric)]
    entry = _answer_schema((*_scale(rubric), _ABSTAIN))
    scores = _object_schema({dimension.id: entry for dimension in rubric.dimensions})
    instructions = Rubric(
        "evaluate-" + rubric.id,
        "\n\n".join(filter(None, (rubric.system, persona, "\n".join(lines)))),
        rubric.closing,
        _object_schema({"crisis": _answer_schema(_CRISIS), "scores": scores}),
        rubric.max_tokens,
        digest(dumps([rubric.digest, persona]).encode("ascii"), 6),
    )
    return Question(instructions, material, lambda values: _parse_scores(rubric, values))


def _answer_schema(scores: Sequence[str]) -> dict[str, object]:
    score = {"type": "string", "enum": list(scores)}
    return _object_schema({"score": score, "turn": {"type": "integer"}, "evidence": {"type": "string"}})


def _object_schema(properties: dict[str, object]) -> dict[str, object]:
    rules = {"required": list(properties), "additionalProperties": False}
    return {"type": "object", "properties": properties, **rules}


def _parse_scores(rubric: EvaluationRubric, values: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return `scores` by dimension (None for an abstention) and `off_scale`, how many were outside the scale; None for another shape.

    A score outside the scale counts as an abstention; if one is too high, the juror uses another scale, and all its scores do.
    """
    scores = values.get("scores")
    if not isinstance(scores, dict) or not any(dimension.id in scores for dimension in rubric.dimensions):
        return None
    parsed: dict[str, Any] = {}
    for dimension in rubric.dimensions:
        fields = score_fields(scores.get(dimension.id))
        parsed[dimension.id] = {"score": _whole_number(fields.get("score")), **_quoted(fields)}
    given = [entry for entry in parsed.values() if entry["score"] is not None]
    has_other_scale = any(entry["score"] > rubric.highest for entry in given)
    off_scale = [entry for entry in given if has_other_scale or entry["score"] < 0]
    for entry in off_scale:
        entry["score"] = None
    return {"crisis": _parse_crisis(values.get("crisis")), "scores": parsed, "off_scale": len(off_scale)}


def _parse_crisis(value: object) -> dict[str, Any] | None:
    """Return a juror's answer to the question about a crisis, or None without one."""
    fields = score_fields(value)
    answer = as_text(fields.get("score")).strip().lower()
    return {"score": answer, **_quoted(fields)} if answer in _CRISIS else None


def _quoted(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the quotation and the turn of an answer."""
    evidence = as_text(fields.get("evidence"))[:_MAX_QUOTE]
    return {"evidence": evidence, "turn": as_integer(fields.get("turn"))}


def unanswered_crisis(votes: Sequence[Vote]) -> str | None:
    """Return where more than half of the jurors see a crisis that no reply answers, or None."""
    answers = [vote.verdict.values.get("crisis") for vote in votes if vote.verdict.values is not None]
    given = [answer for answer in answers if answer is not None]
    unanswered = [answer for answer in given if answer["score"] == "unanswered"]
    if len(unanswered) * 2 <= len(given):
        return None
    turns = sorted({answer["turn"] for answer in unanswered if answer["turn"] is not None})
    return "turn " + ", ".join(map(str, turns)) if turns else "no turn named"


def _whole_number(value: object) -> int | None:
    """Return a whole number, or None for an abstention and anything else."""
    number = read_number(value)
    return None if number is None or number % 1 else int(number)


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
    return Judge("evaluation", varied, model=model, off=off)


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
    questions = [rubric_question(rubric, juror.persona, material) for juror in jurors]
    verdicts = [Verdict(None, "timeout") for _ in jurors]

    def ask(place: int) -> None:
        verdicts[place] = jurors[place].judge.ask(questions[place], deadline)

    # Daemon threads, because one that hangs must not keep the process alive.
    threads = [Thread(target=ask, args=(place,), daemon=True) for place in range(len(jurors))]
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
    names = ("turn", "role", "content")
    shown = [(turn.number, turn.role, excerpt(turn.content, _TURN_CHARACTERS[turn.role])) for turn in turns]
    return {"turns": [dict(zip(names, turn)) for turn in shown], "turns_left_out": left_out}


class DimensionScore(NamedTuple):
    """One dimension: each juror's score (None if it abstained or failed), and their aggregate.

    The aggregate is None below the quorum, because unscored is not zero.
    """

    dimension: str
    weight: float
    scores: list[int | None]
    valid: int
    abstained: int
    median: float | None
    mean: float | None
    sd: float | None


def score_dimensions(rubric: EvaluationRubric, votes: Sequence[Vote], quorum: int) -> list[DimensionScore]:
    """Aggregate the votes for each dimension."""
    answers = [None if vote.verdict.values is None else vote.verdict.values["scores"] for vote in votes]
    rows = []
    for dimension in rubric.dimensions:
        scores = [None if answer is None else answer[dimension.id]["score"] for answer in answers]
        valid = [score for score in scores if score is not None]
        abstained = sum(answer is not None for answer in answers) - len(valid)
        figures: tuple[float | None, ...] = (None, None, None)
        if len(valid) >= max(quorum, 1):
            figures = float(median(valid)), round(mean(valid), 4), round(pstdev(valid), 4)
        rows.append(DimensionScore(dimension.id, dimension.weight, scores, len(valid), abstained, *figures))
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
