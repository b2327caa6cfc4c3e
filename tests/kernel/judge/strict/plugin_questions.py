"""One question of each kind that the plugin asks a model, with its reader."""

from __future__ import annotations

from functools import partial

from memory_plugin.capture.pipeline import statements_question
from memory_plugin.evaluation import shipped_names
from memory_plugin.evaluation.jury import load_rubric as evaluation_rubric
from memory_plugin.evaluation.jury import rubric_question
from memory_plugin.interview.inputs import read_signals
from memory_plugin.kernel.judge.question import Question, load_rubric
from memory_plugin.replies.judge import GradeMaterial, deep_question, grade_question
from memory_plugin.sessions.rubric import read_grade
from memory_plugin.work.judges import check_question
from memory_plugin.work.search_phrases import phrases_question
from tests.kernel.judge.bench import question

__all__ = ["QUESTIONS"]

_MATERIAL = GradeMaterial(
    "code", "why?", ["Bash(ls) -> a"], "Great question! It is so.", ["Great question"] * 3
)
QUESTIONS: dict[str, Question] = {
    "check": check_question(),
    "relevance": question(),
    "usefulness": question(rubric="usefulness"),
    "combined": question(rubric="combined"),
    "capture/statements": statements_question(["We deploy on Mondays."]),
    "memories/phrases": phrases_question([{"id": "port", "title": "Port 80", "body": "Never."}]),
    "replies/grade": grade_question(_MATERIAL, ["SyA", "VDet", "EpAd", "EPad"]),
    "replies/deep": deep_question(_MATERIAL),
    "interview/signals": Question(load_rubric("interview/signals"), {}, read_signals),
    "sessions/score": Question(load_rubric("sessions/score"), {"turns": []}, partial(read_grade, turns=10)),
    **{
        "evaluate-" + name: rubric_question(evaluation_rubric(name), "", {"turns": []})
        for name in shipped_names("rubrics")
    },
}
