"""`memory check phrases`: phrases for memories that have none, from Claude or a judge; and what becomes of phrases in a pulled file."""

from __future__ import annotations

import json
import sys
from uuid import uuid4

import pytest

from memory_plugin.kernel.context import days_ago
from memory_plugin.kernel.paths import read_state, write_state
from memory_plugin.work.search_phrases import phrases_question
from tests.cli.pseudo_terminal import PseudoTerminal
from tests.project import Project, Run
from tests.recall.store_files import at_home

PHRASES = ["where did my demo data go", "staging is empty this morning"]


terminal = pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")


@pytest.fixture
def staging(project: Project) -> Project:
    """Return a project with one trusted memory, id `staging-is-reset-every-night`."""
    project.cli("save", "Staging is reset every night. Put test data into seeds/.")
    return project


def write(project: Project, lines: str, *, inside: bool = True) -> Run:
    return project.cli("check", "phrases", "--json", "-", stdin=lines, inside=inside)


def rows(*phrases: str, name: str = "staging-is-reset-every-night") -> str:
    return "memory: %s\nasked_as: %s\n" % (name, "; ".join(phrases))


def pulled(project: Project, **fields: object) -> None:
    """Change the memory's file as a pull does."""
    path = project.cli("show", "staging", "--json").json["path"]
    with open(path, encoding="utf-8") as file:
        data = json.load(file)
    project.write(path, {**data, **fields})


def found(project: Project, words: str) -> list[str]:
    """Return the ids that a prompt with these words is told or pointed to, with thresholds that any match reaches."""
    project.write_settings(
        retrieval={"inject_threshold": 0.0, "pointer_threshold": 0.0, "catalog": {"max_tokens": 0}}
    )
    context = project.prompt(words, session_id=str(uuid4())).context
    project.wait_for_background()
    return [name for name in ("staging-is-reset-every-night",) if name in context]


def test_claude_gets_the_texts_and_adds_phrases_without_a_question(staging: Project) -> None:
    listed = staging.cli("check", "phrases", "--json", inside=True).json
    assert listed == {
        "memories": [
            {
                "id": "staging-is-reset-every-night",
                "title": "Staging is reset every night",
                "body": "Staging is reset every night. Put test data into seeds/.",
            }
        ],
        "left": 0,
    }
    assert staging.dialog("check", "phrases", "--json", "-") == {}
    done = write(staging, rows(*PHRASES)).json
    assert done["stored"] == [{"id": "staging-is-reset-every-night", "asked_as": PHRASES}]
    assert (done["refused"], done["left"]) == ([], 0)
    shown = staging.cli("show", "staging", "--json").json
    assert (shown["asked_as"], shown["trust"], shown["waits_because"]) == (PHRASES, "trusted", "")
    assert staging.cli("review", "--json").json == {"groups": []}
    message = staging.hook("Stop", staging.event("Stop")).message
    assert "Claude wrote search phrases for 1 memory" in message
    assert "--asked-as none" in message
    assert found(staging, "where did all my demo data go?")


def test_twenty_memories_are_one_batch(project: Project) -> None:
    path = project.write("notes.json", ["Service %02d listens on its own port" % at for at in range(23)])
    run = project.cli("import", path, "--yes")
    assert "23 memories without search phrases; to add some: /memory:phrases" in run.stdout
    listed = project.cli("check", "phrases", "--json").json
    assert (len(listed["memories"]), listed["left"]) == (20, 3)
    assert "23 memories without search phrases" in project.cli("check", "phrases").stdout


def test_phrases_are_bounded(staging: Project) -> None:
    cases = [
        (rows("x", name="no-such-memory"), "no trusted memory"),
        (rows("x", name="staging"), "no trusted memory"),  # a prefix is no name
        (rows(), "1 to 8 texts"),
        (rows(*map(str, range(9))), "1 to 8 texts"),
        (rows("x" * 121), "at most 120 characters"),
        (rows("\u200b", "\u202e "), "1 to 8 texts"),  # nothing visible
        ("memory: staging-is-reset-every-night\n", "1 to 8 texts"),
    ]
    done = write(staging, "".join(given for given, _ in cases)).json
    assert done["stored"] == []
    assert [reason in row["reason"] for row, (_, reason) in zip(done["refused"], cases)] == [True] * len(
        cases
    )
    assert done["left"] == 1


def test_a_person_is_told_what_was_stored(staging: Project) -> None:
    assert staging.cli("check", "phrases", "-", stdin=rows(*PHRASES)).stdout.startswith(
        "staging-is-reset-every-night: %s\n" % "; ".join(PHRASES)
    )


@pytest.mark.parametrize("text", ["", "[]", "{", '{"memories": 7}'], ids=repr)
def test_another_form_is_refused(staging: Project, text: str) -> None:
    run = staging.cli("check", "phrases", "--json", "-", stdin=text)
    assert run.returncode == 1
    assert run.stderr.startswith("memory: phrases: ")


def test_a_memory_that_is_named_twice_gets_the_first_phrases(staging: Project) -> None:
    done = write(staging, rows(*PHRASES) + rows("another one")).json
    assert [row["asked_as"] for row in done["stored"]] == [PHRASES]
    assert (len(done["refused"]), done["left"]) == (1, 0)
    assert staging.cli("show", "staging", "--json").json["waits_because"] == ""


def test_a_phrase_that_several_memories_hold_leads_to_none(project: Project) -> None:
    names = [project.save("Service %d" % n, "It listens on port 80%d." % n) for n in range(4)]
    given = "".join(rows("fix the bug", name=name) for name in names[:3])
    done = write(project, given + rows("Fix the  bug", "port of the last one", name=names[3])).json
    assert [row["asked_as"] for row in done["stored"]] == [["fix the bug"]] * 2 + [["port of the last one"]]
    assert "other memories have these phrases" in done["refused"][0]["reason"]


def test_existing_phrases_are_never_changed(staging: Project) -> None:
    write(staging, rows(*PHRASES))
    assert write(staging, rows("buy this instead")).json["stored"] == []
    assert staging.cli("show", "staging", "--json").json["asked_as"] == PHRASES
    staging.cli("edit", "staging", "--asked-as", "none")
    assert len(staging.cli("check", "phrases", "--json").json["memories"]) == 1


def test_a_pending_memory_gets_no_phrases(project: Project) -> None:
    name = project.save("Staging", "It is reset.", inside=True)
    assert project.cli("check", "phrases", "--json").json == {"memories": [], "left": 0}
    assert write(project, rows("x", name=name)).json["stored"] == []


def test_secrets_in_phrases_are_redacted(staging: Project) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    assert secret not in write(staging, rows("why does %s fail" % secret)).stdout


@pytest.mark.parametrize("chosen", [["staging"], ["--all"]], ids=["by name", "all"])
def test_pulled_phrases_steer_nothing_until_they_are_accepted(staging: Project, chosen: list[str]) -> None:
    write(staging, rows(*PHRASES))
    pulled(staging, asked_as=[*PHRASES, "zanzibar kumquat pelican"])
    staging.cli("list")
    assert not found(staging, "zanzibar kumquat pelican please")
    assert found(staging, "where did all my demo data go?")
    assert "its search phrases changed since you accepted them" in staging.cli("show", "staging").stdout
    (group,) = staging.cli("review", "--json").json["groups"]
    (entry,) = group["entries"]
    assert entry["changes"] == [
        {"field": "asked as", "lines": [*("  " + text for text in PHRASES), "+ zanzibar kumquat pelican"]}
    ]
    assert entry["memory"]["waits_because"] == "its search phrases changed since you accepted them"
    assert "pending search phrases" in staging.cli("edit", "staging", "--asked-as", "mine").stderr
    assert staging.cli("edit", "staging", "--add-tag", "infra").returncode == 0
    assert not found(staging, "zanzibar kumquat pelican please")
    assert staging.cli("accept", "--group", group["id"]).returncode == 1, "its tags are others now"
    assert staging.cli("accept", *chosen).returncode == 0
    assert found(staging, "zanzibar kumquat pelican please")


def test_rejected_phrases_are_not_offered_again(staging: Project) -> None:
    pulled(staging, asked_as=["zanzibar kumquat pelican"])
    assert "staging-is-reset" in staging.cli("list", "--status", "pending").stdout
    assert staging.cli("reject", "staging").returncode == 0
    assert staging.cli("review", "--json").json == {"groups": []}
    assert staging.memories()[0]["trust"] == "trusted"
    assert not found(staging, "zanzibar kumquat pelican please")


@terminal
def test_a_review_offers_phrases_for_what_was_accepted(project: Project) -> None:
    project.save("Staging", "It is reset.", inside=True)
    review = PseudoTerminal(project, "review")
    review.until("[q] quit: ")
    review.press("y")
    review.until("1 memory without search phrases; to add some: /memory:phrases")
    assert review.end() == 0


def judged(project: Project) -> None:
    project.write_settings(judge={"backend": "scripted"}, retrieval={"judge": {"enabled": True}})
    reply = {"memories": [{"id": "staging-is-reset-every-night", "asked_as": PHRASES}]}
    project.script_judge({"text": json.dumps(reply)})


def test_a_judge_writes_phrases_after_the_price_was_accepted(staging: Project) -> None:
    judged(staging)
    asked = staging.cli("check", "phrases", "--judge")
    assert asked.returncode == 1
    assert "send title and text of 1 memory to" in asked.stderr
    assert "at most $" in asked.stderr
    assert (
        staging.cli("check", "phrases", "--judge", "--yes", "--json").json["stored"][0]["asked_as"] == PHRASES
    )


def test_a_judge_gets_no_personal_data() -> None:
    body = "Jane is at jane@corp.io or +49 170 1234567."
    message = phrases_question([{"id": "ask-jane", "title": "Ask jane@corp.io", "body": body}]).message
    assert "[redacted:email]" in message
    assert not [secret for secret in ("corp.io", "1234567") if secret in message]


def test_inside_the_client_the_user_decides_about_the_judge(staging: Project) -> None:
    judged(staging)
    described = staging.cli("describe", "check", "phrases", "--judge").json
    assert described["question"].startswith("send title and text of 1 memory to")
    assert staging.cli("check", "phrases", "--judge", "--yes", inside=True).returncode == 1
    assert staging.cli("show", "staging", "--json").json["asked_as"] == []


def test_without_a_judge_nothing_is_asked(staging: Project) -> None:
    run = staging.cli("check", "phrases", "--judge", "--yes")
    assert run.returncode == 1
    assert "no judge was asked: its judge is off" in run.stderr


def test_the_session_start_mentions_several_memories_without_phrases_once_a_week(project: Project) -> None:
    for number in range(5):
        assert "phrases" not in project.start().message
        project.cli("save", "Service %d listens on port 80%d" % (number, number))
        project.wait_for_background()
    assert "5 memories have no search phrases" in project.start().message
    assert "phrases" not in project.start().message
    with at_home(project) as paths:
        path = paths.state("notices", paths.project_key + ".json")
        write_state(path, {**read_state(path), "phrases": days_ago(8)})
    assert "5 memories have no search phrases" in project.start().message
