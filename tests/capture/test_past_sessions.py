"""Capture from past sessions on the command line: found, limited, resumed, reviewed, and kept only if the user accepts."""

from __future__ import annotations

import json
import os
import re

import pytest

from tests.project import Project
from tests.replies.builders import assistant_record, user_record, write_transcript

CORRECTION = "no, we never mock the database here"


def past(project: Project, name: str, *prompts: str) -> str:
    """Write a transcript of the project's folder in the client's own place."""
    folder = os.path.join(
        project.config, "projects", re.sub(r"[^A-Za-z0-9]", "-", os.path.realpath(project.root))
    )
    rows = [
        row
        for number, text in enumerate(prompts)
        for row in (user_record(text), assistant_record("%d is done." % number))
    ]
    return write_transcript(
        os.path.join(folder, name + ".jsonl"),
        *({**row, "cwd": os.path.realpath(project.root), "sessionId": name} for row in rows),
    )


def ids(project: Project) -> list[str]:
    return [candidate["id"] for candidate in project.candidates()]


def memories(project: Project) -> list[dict[str, str]]:
    listed: list[dict[str, str]] = project.cli("list", "--json").json["memories"]
    return listed


def test_reading_the_sessions_of_a_project_again_adds_nothing(project: Project) -> None:
    past(project, "one", CORRECTION, "fix the test")
    past(project, "two", "we decided to keep sessions in Redis")
    first = project.cli("capture", "--project", "--json").json
    assert (first["read"], first["open"]) == (2, 2)
    again = project.cli("capture", "--project", "--json").json
    assert (again["read"], again["new"], again["open"]) == (2, [], 2)
    assert memories(project) == []


def test_a_dropped_candidate_returns_only_after_clear(project: Project) -> None:
    path = past(project, "one", CORRECTION)
    project.cli("capture", path)
    (identity,) = ids(project)
    assert project.cli("reject", identity).returncode == 0
    project.cli("capture", path)
    assert ids(project) == []
    assert project.cli("capture", "clear").stdout == "deleted: 0 suggestions\n"
    project.cli("capture", path)
    assert ids(project) == [identity]


def test_a_candidate_in_claudes_words_is_trusted_and_names_its_source(project: Project) -> None:
    project.cli("capture", past(project, "one", "hello there", CORRECTION))
    (identity,) = ids(project)
    words = (
        "--category",
        "constraint",
        "--title",
        "No database mocks",
        "--body",
        "Tests use the real database.",
    )
    run = project.cli("save", *words, "--candidate", identity, "--json")
    assert run.json["trust"] == "trusted"
    with open(run.json["path"], encoding="utf-8") as file:
        assert json.load(file)["source"] == {"session": "one", "turn": 2, "quote": CORRECTION}
    assert ids(project) == []


def test_a_covered_statement_is_no_candidate(project: Project) -> None:
    project.save("Never mock the database", "Tests use the real one here.", category="constraint")
    project.cli("refresh")
    project.cli("capture", past(project, "one", CORRECTION))
    assert ids(project) == []


def test_a_contradiction_is_marked(project: Project) -> None:
    project.save("Use npm", "Use npm, not pnpm.", category="preference")
    project.cli("refresh")
    project.cli("capture", past(project, "one", "use pnpm, not npm"))
    (one,) = project.candidates()
    assert one["contradicts"] == "use-npm"
    (group,) = project.cli("review", "--json").json["groups"]
    assert [entry["alone"] for entry in group["entries"]] == [True]


def test_claude_changes_nothing_without_approval(project: Project) -> None:
    project.cli("capture", past(project, "one", CORRECTION))
    (identity,) = ids(project)
    for words in (["reject", identity], ["capture", "clear"]):
        assert project.cli(*words, inside=True).returncode == 1
    group = project.cli("review", "--json").json["groups"][0]["id"]
    assert project.cli("accept", "--group", group, inside=True).returncode == 1
    saved = (
        "save",
        "--category",
        "constraint",
        "--title",
        "No mocks",
        "--body",
        "None.",
        "--candidate",
        identity,
    )
    assert project.cli(*saved, "--json", inside=True).json["trust"] == "pending"
    assert ids(project) == [identity]


def test_the_user_accepts_a_group(project: Project) -> None:
    project.cli("capture", past(project, "one", CORRECTION, "we decided to keep sessions in Redis"))
    for group in project.cli("review", "--json").json["groups"]:
        assert project.cli("accept", "--group", group["id"]).returncode == 0
    assert sorted(one["trust"] for one in memories(project)) == ["trusted", "trusted"]
    assert ids(project) == []


@pytest.mark.parametrize(
    "words",
    [
        ["capture", "nothing.jsonl"],
        ["capture"],
        ["capture", "clear", "x"],
    ],
)
def test_wrong_arguments_are_rejected(project: Project, words: list[str]) -> None:
    run = project.cli(*words)
    assert (run.returncode, run.stdout) == (2, "")
    assert run.stderr.startswith("memory: ")


def kinds(project: Project) -> dict[str, str]:
    """Return the titles of the open candidates by their kinds."""
    return {one["kind"]: one["title"] for one in project.candidates()}


def propose(project: Project, path: str, session: str) -> None:
    """Run what a hook starts when a session ends."""
    request = {"event": "SessionEnd", "session": session, "transcript": path}
    run = project.cli("background", stdin=json.dumps(request))
    assert (run.returncode, run.stderr) == (0, "")


def test_repeating_an_injected_memory_leaves_a_hint(project: Project) -> None:
    project.save("Never mock the database", "Tests use the real one here.", category="constraint")
    told = project.prompt("Should the tests mock the database?", session_id="told").context
    assert "Never mock the database" in told
    propose(project, past(project, "told", CORRECTION), "told")
    assert kinds(project) == {"mistake": "You had to repeat a memory: never-mock-the-database"}
    (group,) = project.cli("review", "--json").json["groups"]
    assert group["entries"][0]["actions"] == ["reject"]


def test_a_guard_that_keeps_answering_leaves_a_hint(project: Project) -> None:
    project.save(
        "Never force-push",
        "Others build on it.",
        "--guard-command",
        "git push --force",
        category="constraint",
    )
    project.cli("refresh")
    for session in ("one", "two", "three"):
        call = {"tool_name": "Bash", "tool_input": {"command": "git push --force"}, "tool_use_id": session}
        project.hook("PreToolUse", project.event("PreToolUse", session_id=session, **call))
    propose(project, past(project, "one", "fix the test"), "one")
    assert kinds(project) == {"guard": "A guard keeps answering: never-force-push"}


def test_new_notes_of_claude_code_are_offered(project: Project) -> None:
    path = past(project, "one", "fix the test")
    folder = os.path.join(os.path.dirname(path), "memory")
    os.makedirs(folder)
    with open(os.path.join(folder, "MEMORY.md"), "w", encoding="utf-8") as file:
        file.write("# Ports\n\nThe proxy listens on 8443 in all environments.\n")
    propose(project, path, "one")
    assert kinds(project) == {"note": "Ports"}


def test_sections_of_claude_md_that_many_prompts_need_are_offered(project: Project) -> None:
    text = "# Deploy\n\nThe proxy is deployed from the release branch with the deploy script.\n\n# Style\n\nTabs.\n"
    project.write("CLAUDE.md", text)
    prompts = ["%d. deploy the proxy from the release branch" % number for number in range(6)]
    project.cli("capture", past(project, "one", *prompts))
    assert kinds(project) == {"section": "Deploy"}


def test_a_prompt_that_the_user_did_not_type_is_not_their_word(project: Project) -> None:
    rows = [
        user_record("we always deploy from the release branch", promptSource=source)
        for source in ("suggestion_accepted", "system", "typed")
    ]
    counts = [
        project.cli(
            "capture", write_transcript(os.path.join(project.root, "%d.jsonl" % at), row), "--json"
        ).json["open"]
        for at, row in enumerate(rows)
    ]
    assert counts == [0, 0, 1]


def test_a_prompt_without_an_answer_keeps_its_day(project: Project) -> None:
    row = user_record("we always deploy from the release branch", timestamp="2026-03-01T09:00:00.000Z")
    project.cli("capture", write_transcript(os.path.join(project.root, "one.jsonl"), row))
    (candidate,) = project.candidates()
    assert candidate["origin"]["time"].startswith("2026-03-01")


def test_a_personal_taste_is_named_before_it_is_stored_for_the_team(project: Project) -> None:
    row = user_record("i like my commit messages in lowercase")
    project.cli("capture", write_transcript(os.path.join(project.root, "one.jsonl"), row))
    assert "memory edit ID --scope user" in project.cli("review", "--json").stdout
