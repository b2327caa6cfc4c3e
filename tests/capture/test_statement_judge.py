"""The judge of capture: which sentences it is asked about, and what its answer, a wrong one or none makes of them."""

from __future__ import annotations

import json
import os
from typing import Any

import pytest

from memory_plugin.capture.pipeline import (
    RUBRIC,
    judge_statements,
    statements_question,
    unsure_sentences,
)
from memory_plugin.capture.statements import find_statements
from memory_plugin.kernel.judge.question import Question, read_reply
from memory_plugin.kernel.paths import load_data
from tests.project import SESSION, Project
from tests.replies.builders import assistant_record, user_record, write_transcript

UNSURE = "I like short commit messages, no emoji please."
SURE = "From now on, write commit messages in the imperative."
FOUND = "we decided to keep sessions in Redis"
TASK = "add a button"


class Judge:
    """Answers every question with the same items, and remembers the questions."""

    def __init__(self, *items: object) -> None:
        self.reply = json.dumps({"keep": items})
        self.asked: list[Question] = []

    def __call__(self, question: Question) -> dict[str, Any] | None:
        """Return the values of the answer."""
        self.asked.append(question)
        return read_reply(self.reply, question.read)


def item(index: int = 0, **changed: object) -> dict[str, object]:
    """Return an item of an answer."""
    return {
        "index": index,
        "kind": "rule",
        "quote": "short commit messages",
        "title": "Short commits",
        **changed,
    }


@pytest.mark.parametrize("example", load_data("judges", "rubrics", *RUBRIC.split("/"))["examples"])
def test_an_example_of_the_rubric_is_read_as_it_says(example: dict[str, Any]) -> None:
    values = read_reply(example["reply"], statements_question(["we squash", "x"]).read)
    assert (values and [at for at, *_ in values["keep"]]) == example["keep"]


def test_the_judge_is_asked_only_about_what_rules_are_unsure_of() -> None:
    assert unsure_sentences([UNSURE, SURE, TASK]) == [UNSURE]
    judge = Judge()
    assert [found.text for found in judge_statements([SURE, TASK], judge)] == [SURE]
    assert judge.asked == []


def test_an_answer_gives_quote_kind_and_title() -> None:
    judge = Judge(item())
    (found,) = judge_statements([UNSURE], judge)
    assert found[:4] == ("short commit messages", "rule", "preference", "judge")
    assert found.title == "Short commits"
    assert len(judge.asked) == 1


def test_a_statement_that_the_judge_rejects_is_none_unless_a_strong_rule_found_it() -> None:
    weak = "we want everything in postgres"
    assert [found.strength < 0.85 for found in find_statements(weak)] == [True]
    assert judge_statements([weak], Judge()) == []
    assert [found.text for found in judge_statements([SURE, weak], Judge())] == [SURE]


def test_a_fact_of_a_long_sentence_is_none_if_the_judge_rejects_the_sentence() -> None:
    task = ", we always keep the settings in one file and never in two, so please move them from the old place to the new"
    sentence = "my name is Nathan, and in this repo" + task
    assert [found.text for found in judge_statements([sentence], None)] == ["my name is Nathan"]
    assert unsure_sentences([sentence]) == [sentence]
    assert judge_statements([sentence], Judge()) == []


@pytest.mark.parametrize(
    ("changed", "quote"),
    [
        pytest.param({"quote": "delete the database"}, UNSURE, id="words that the user did not type"),
        pytest.param({"quote": 3}, UNSURE, id="no text"),
        pytest.param({"index": 1}, None, id="no such sentence"),
        pytest.param({"index": True}, None, id="no number"),
        pytest.param({"kind": "order"}, None, id="no such kind"),
    ],
)
def test_an_answer_is_checked_against_the_users_words(changed: dict[str, object], quote: str | None) -> None:
    found = judge_statements([UNSURE], Judge({**item(), **changed}))
    assert [statement.text for statement in found] == ([quote] if quote else [])


def test_rules_decide_without_an_answer() -> None:
    prompts = [FOUND, UNSURE]
    by_rules = [found for prompt in prompts for found in find_statements(prompt)]
    assert judge_statements(prompts, lambda _: None) == by_rules
    assert judge_statements(prompts, None) == by_rules


def test_the_question_holds_no_secret_and_no_private_text() -> None:
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    prompt = "we keep the token %s in vault <private>the vault is at home</private>" % secret
    message = statements_question(unsure_sentences([prompt])).message
    assert "in vault" in message
    assert secret not in message
    assert "at home" not in message


def test_a_turn_is_judged_once_and_the_answer_holds_at_the_end_of_the_session(project: Project) -> None:
    reply = {"rubric": RUBRIC, "text": json.dumps({"keep": [item()]})}
    project.write_settings(capture={"judge": {"enabled": True}}, judge={"backend": "scripted"})
    script = os.path.join(project.state, "judge", "script.json")
    os.makedirs(os.path.dirname(script), exist_ok=True)
    with open(script, "w", encoding="utf-8") as file:
        json.dump({"replies": [reply]}, file)
    transcript = str(project.event("Stop")["transcript_path"])
    write_transcript(transcript, user_record(UNSURE), assistant_record("Noted."))
    for event in ("Stop", "SessionEnd"):
        request = {
            "event": event,
            "session": SESSION,
            "transcript": transcript,
            "judges_off": event != "Stop",
        }
        project.cli("background", stdin=json.dumps(request))
    (candidate,) = project.candidates()
    assert (candidate["title"], candidate["quote"], candidate["rule"]) == (
        "Short commits",
        "short commit messages",
        "judge",
    )
    calls = [row for row in project.ledger("judge-calls") if row["feature"] == "capture"]
    assert [row["outcome"] for row in calls] == ["ok"]
