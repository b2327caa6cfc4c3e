"""One question of each kind that the plugin asks a model, with its reader."""

from __future__ import annotations

from memory_plugin.cli.commands.judge_command import check_question
from memory_plugin.evaluation.evaluation_files import read_object, shipped_path
from memory_plugin.evaluation.evaluation_rubric import load_rubric as evaluation_rubric
from memory_plugin.evaluation.evaluation_rubric import rubric_names, rubric_question
from memory_plugin.evaluation.jury import _REPLY_SCHEMA, _read_reply
from memory_plugin.interview.answers import read_signals
from memory_plugin.kernel.fastjson import loads
from memory_plugin.kernel.judge.question import Question, Rubric, load_rubric
from memory_plugin.kernel.paths import data_path
from memory_plugin.replies.grading import GradeMaterial, deep_question, grade_question
from memory_plugin.sessions.scorer_reply import read_scores
from tests.kernel.judge.bench import question

__all__ = ["QUESTIONS"]

_MATERIAL = GradeMaterial(
    "code", "why?", ["Bash(ls) -> a"], "Great question! It is so.", ["Great question"] * 3
)


def _signals() -> dict[str, object]:
    with open(data_path("interview", "signals.json"), encoding="utf-8") as file:
        table = loads(file.read())
    assert isinstance(table, dict)
    return table


def _subject() -> Question:
    raw = read_object(shipped_path("", "subject"))
    lines = "\n".join(raw["system"]), "\n".join(raw["closing"])
    return Question(
        Rubric("subject", *lines, _REPLY_SCHEMA, raw["max_tokens"], "0"), {"turns": []}, _read_reply
    )


_TABLE = _signals()
QUESTIONS: dict[str, Question] = {
    "check": check_question(),
    "relevance": question(),
    "usefulness": question(rubric="usefulness"),
    "combined": question(rubric="combined"),
    "replies/grade": grade_question(_MATERIAL, ["SyA", "VDet", "EpAd", "EPad"]),
    "replies/deep": deep_question(_MATERIAL),
    "interview/signals": Question(
        load_rubric("interview/signals"), {}, lambda value: read_signals(value, _TABLE)
    ),
    "sessions/score": Question(load_rubric("sessions/score"), {"turns": []}, read_scores),
    "subject": _subject(),
    **{
        "evaluate-" + name: rubric_question(evaluation_rubric(name), persona, {"turns": []})
        for name in rubric_names()
        for persona in [""]
    },
}
