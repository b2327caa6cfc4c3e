"""`memory why`: a decision is explained, even if the ledger was tampered with."""

from __future__ import annotations

import io
import json
import os
from datetime import datetime, timedelta
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest

from memory_plugin.cli.commands import why_command
from memory_plugin.cli.console import Console
from memory_plugin.memories.survey import survey
from memory_plugin.recall.explain import find_decision
from tests.project import SESSION, Project
from tests.recall.store_files import ASK, BODY, TITLE, at_home, memory, put


@pytest.fixture
def prompted(project: Project) -> Project:
    """Return a project with one memory and three recorded prompts."""
    project.save(TITLE, BODY)
    for number, prompt in enumerate(("ok", "a haiku about the sea please", ASK)):
        project.prompt(prompt, "prompt-%d" % number)
    return project


def test_the_last_decision_is_explained(prompted: Project) -> None:
    text = prompted.cli("why").stdout
    assert "prompt prompt-2" in text
    assert "Showed Claude 1 memory." in text
    assert "--asked-as" not in text
    assert "  shown        %s (use-postgres-for-the-billing-database): " % TITLE in text
    assert "surprise" not in text


@pytest.mark.parametrize(
    ("which", "words"), [("prompt-0", "only confirmed or made small talk"), ("prompt-1", "Showed nothing: ")]
)
def test_a_prompt_is_found_by_its_id(prompted: Project, which: str, words: str) -> None:
    assert words in prompted.cli("why", which).stdout
    assert prompted.cli("why", which, "--json").json["prompt_id"] == which


def test_a_prompt_without_a_decision_is_an_error(prompted: Project) -> None:
    run = prompted.cli("why", "0123-nothing-like-it")
    assert (run.returncode, run.stdout) == (1, "")
    assert run.stderr == (
        "memory: no prompt with the id 0123-nothing-like-it is recorded in this project;"
        " to list prompts: memory status --json\n"
    )


@pytest.mark.parametrize(
    "fields",
    [
        {"candidates": 5, "injected": 5, "outcome": "injected"},
        {
            "candidates": [5, {"confidence": "high", "score": None, "key": ["x"]}, {}],
            "injected": {},
        },
        {
            "candidates": [{"confidence": 1e308, "key": "\x1b[2J"}],
            "problem": ["x"],
            "ms": "soon",
        },
        {"time": {}, "prompt_id": [], "reason": {"a": 1}, "answered_by": 5, "inject_threshold": []},
    ],
    ids=["numbers", "wrong types", "strange values", "objects"],
)
def test_a_malformed_record_is_shown_as_far_as_possible(prompted: Project, fields: dict[str, object]) -> None:
    row = {**prompted.ledger("recalls")[-1], **fields}
    with open(os.path.join(prompted.state, "recalls.jsonl"), "a", encoding="utf-8") as file:
        file.write(json.dumps(row) + "\n")
    run = prompted.cli("why")
    assert (run.returncode, run.stderr) == (0, "")
    assert "\x1b" not in run.stdout


def test_verbose_prints_the_scores(prompted: Project) -> None:
    text = prompted.cli("why", "--verbose").stdout
    assert "thresholds: 0.50 for the full text, 0.50 for the title" in text
    assert "\nfull text\ttitle\tscore\tmemory\n" in text
    not_looked_up = prompted.cli("why", "prompt-0", "--verbose").stdout
    assert not_looked_up.splitlines()[-1] == "No memory was looked up."
    assert ("None" in not_looked_up, "?" in not_looked_up) == (False, False)


def test_the_suggested_command_works(prompted: Project) -> None:
    prompted.save("The release train leaves on Tuesdays", "Merge on Monday.")
    prompted.prompt("does the nightly release of the mobile app need a signed certificate?", "weak")
    text = prompted.cli("why", "weak").stdout
    assert "% match (needs 50%)" in text
    (command,) = [line.strip() for line in text.splitlines() if "--asked-as" in line]
    assert command == 'memory edit ID --asked-as "..."'
    words = [word.replace("ID", "the-release-train-leaves-on-tuesdays") for word in command.split()[1:-1]]
    for phrase in ("which day do we ship", "when is the next train"):
        assert prompted.cli(*words, phrase).returncode == 0
    shown = prompted.cli("show", "the-release-train-leaves-on-tuesdays", "--json").json
    assert shown["asked_as"] == ["which day do we ship", "when is the next train"]


def test_a_text_is_tried_and_nothing_is_recorded(prompted: Project) -> None:
    before = prompted.ledger("recalls")
    text = prompted.cli("why", ASK).stdout
    assert text.startswith("Tried now")
    assert "  shown        %s (use-postgres-for-the-billing-database): " % TITLE in text
    assert "Showed nothing: the prompt only confirmed" in prompted.cli("why", "ok, thanks!").stdout
    assert prompted.ledger("recalls") == before


def test_a_prompt_is_named_by_its_beginning_where_a_transcript_has_it(prompted: Project) -> None:
    folder = os.path.join(prompted.config, "projects", "p")
    os.makedirs(folder)
    with open(os.path.join(folder, SESSION + ".jsonl"), "w", encoding="utf-8") as file:
        message = {"role": "user", "content": ASK}
        file.write(json.dumps({"type": "user", "promptId": "prompt-2", "message": message}) + "\n")
    assert ', "%s"' % ASK in prompted.cli("why").stdout.split("\n")[0]
    assert '  "%s"\n' % ASK in prompted.cli("status").stdout


def test_times_are_local(prompted: Project) -> None:
    utc = prompted.ledger("recalls")[-1]["time"]
    shown = prompted.cli("why", TZ="XXX-05:30").stdout.split(",")[0]
    assert datetime.fromisoformat(shown) - datetime.fromisoformat(utc[:16]) == timedelta(hours=5, minutes=30)


class Terminal(io.StringIO):
    """A terminal to write to."""

    def isatty(self) -> bool:
        """Return that it is one."""
        return True


def test_lines_fit_the_terminal(prompted: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "70")
    monkeypatch.setenv("NO_COLOR", "1")
    screen = Terminal()
    with at_home(prompted) as paths:
        row: dict[str, Any] = find_decision(paths, "last") or {}
        context = SimpleNamespace(console=Console(screen), paths=paths, overview=partial(survey, paths))
        silent = {"injected": [], "outcome": "silent", "reason": "over_budget", "problem": "index_locked"}
        candidates = [{**candidate, "withheld": "over_budget"} for candidate in row["candidates"]]
        why_command._explain({**row, **silent, "candidates": candidates}, context)  # type: ignore[arg-type]
    lines = screen.getvalue().splitlines()
    assert len(lines) > 5
    assert max(map(len, lines)) <= 70


def test_the_last_decision_is_that_of_a_prompt(prompted: Project) -> None:
    """With what other places decided in that turn, and without the start of a session."""
    prompted.save("Never push", "Ask first.", "--guard-command", "git push")
    push = {"tool_name": "Bash", "tool_input": {"command": "git push"}, "tool_use_id": "t1"}
    prompted.hook("PreToolUse", prompted.event("PreToolUse", prompt_id="prompt-2", **push))
    prompted.start("resume")
    text = prompted.cli("why").stdout
    assert "prompt prompt-2" in text
    assert "Also in this turn: a guard blocked a call once and showed Claude its memory (" in text
    found = prompted.cli("why", "--json").json
    assert (found["place"], [other["place"] for other in found["also"]]) == ("prompt", ["guard"])


def test_place_selects_the_decision(prompted: Project) -> None:
    prompted.save("Short answers", "One paragraph.", category="preference")
    prompted.start()
    text = prompted.cli("why", "--place", "catalog").stdout
    assert "At the start of the session: showed Claude 1 memory in full and the titles of 1." in text
    assert "  shown        Short answers (short-answers)" in text
    run = prompted.cli("why", "--place", "failure")
    assert (run.returncode, run.stderr) == (
        1,
        "memory: nothing is recorded after a failed command in this project\n",
    )
    assert prompted.cli("why", "--place", "nowhere").returncode == 2


def test_a_pending_memory_that_would_have_answered_is_named_first(prompted: Project) -> None:
    put(prompted, "frozen", memory("Deploys are frozen on Fridays", "From noon to Monday morning."))
    text = prompted.cli("why", "may I deploy on a friday").stdout
    named = 'Pending, and would match: "Deploys are frozen on Fridays" memory accept frozen Showed'
    assert named in " ".join(text.split())
    assert prompted.cli("why", "may I deploy on a friday", "--json").json["pending"] == ["frozen"]
    assert "Pending" not in prompted.cli("why", "a haiku about the sea please").stdout


def test_an_expired_memory_that_would_have_answered_is_named_with_its_command(prompted: Project) -> None:
    put(prompted, "frozen", memory("Deploys are frozen on Fridays", "From noon.", expires_at="2020-01-01"))
    prompted.cli("accept", "--all")
    run = prompted.cli("why", "may I deploy on a friday")
    named = (
        'Expired, and would match: "Deploys are frozen on Fridays" memory edit frozen --expires never Showed'
    )
    assert named in " ".join(run.stdout.split())
    assert prompted.cli("why", "may I deploy on a friday", "--json").json["pending"] == []


def test_a_trial_begins_with_the_start_of_a_session(prompted: Project) -> None:
    prompted.save("Name each branch after its ticket", "Such as AB-12.", category="preference")
    lines = prompted.cli("why", "how do I name each branch").stdout.splitlines()
    assert lines[1] == "Claude has it from the session's start."
    named = "Name each branch after its ticket (name-each-branch-after-its-ticket): at the session's start"
    assert "  shown        " + named in lines


def test_a_trial_where_the_plugin_is_switched_off_shows_nothing(prompted: Project) -> None:
    text = prompted.cli("why", ASK, MEMORY_DISABLE="1").stdout
    assert text.startswith("Recall is off (MEMORY_DISABLE): ")
    assert "Showed nothing: MEMORY_DISABLE is set." in text


def test_a_problem_that_is_also_the_reason_is_printed_once(prompted: Project) -> None:
    path = os.path.join(prompted.state, "recalls.jsonl")
    with open(path, encoding="utf-8") as file:
        row = {**json.loads(file.readlines()[-1]), "outcome": "silent", "injected": [], "pointed": []}
    with open(path, "a", encoding="utf-8") as file:
        file.write(json.dumps({**row, "reason": "refreshing", "problem": "refreshing"}) + "\n")
    assert prompted.cli("why").stdout.count("some memories are not indexed yet") == 1
