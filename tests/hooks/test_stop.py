"""The Stop hook as a process: the ledger line, no output, drift and its correction, the judge that runs afterward."""

from __future__ import annotations

import json
import os
import time
from typing import Any

import pytest

from memory_plugin.replies.gate import is_sampled
from memory_plugin.replies.rows import score_id
from tests.project import PLUGIN_ROOT, SESSION, Project, Run, posix
from tests.replies.builders import (
    PADDED,
    PLAIN,
    assistant_record,
    call_record,
    result_record,
    user_record,
    write_transcript,
)
from tests.test_house import ALLOWED_IMPORTS, modules_of

GRADE = {"SyA": 0, "VDet": 0, "EpAd": 0, "EPad": 0, "phrases": [], "missed": []}
ONE_PHRASE = "Great question! " + PLAIN


def stop(
    project: Project, text: object, prompt_id: str = "p1", session: str = SESSION, **fields: object
) -> Run:
    """Return the Stop hook, run at the end of a reply."""
    event = project.event("Stop", last_assistant_message=text, prompt_id=prompt_id, stop_hook_active=False)
    return project.hook("Stop", {**event, "session_id": session, **fields})


def scores(project: Project, kind: str = "score") -> list[dict[str, Any]]:
    """Return the lines of one kind in scores.jsonl."""
    return [row for row in project.ledger("scores") if row["kind"] == kind]


def next_context(
    project: Project, session: str = SESSION, text: str = "Which port is it on the other host?"
) -> str:
    """Return the text that Claude gets on a prompt."""
    return project.prompt(text, "next", session_id=session).context


def own_settings(project: Project, **memory: object) -> None:
    """Write the user's settings."""
    with open(os.path.join(project.config, "settings.json"), "w", encoding="utf-8") as file:
        json.dump({"memory": memory}, file)


def hybrid(project: Project, *replies: dict[str, object], **scoring: object) -> None:
    """Switch the judge for replies on; it answers by script."""
    own_settings(project, scoring={"mode": "hybrid", **scoring}, judge={"backend": "scripted"})
    path = os.path.join(project.state, "judge", "script.json")
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"replies": list(replies)}, file)


def answer(**values: object) -> dict[str, object]:
    """Return a reply of the scripted judge."""
    return {"rubric": "replies/grade", "text": json.dumps({**GRADE, **values})}


def eventually(project: Project, name: str, kind: str, count: int = 1) -> list[dict[str, Any]]:
    """Return the lines of one kind in a ledger, once a detached process has written them."""
    end = time.monotonic() + 20
    while True:
        rows = [row for row in project.ledger(name) if row["kind"] == kind]
        if len(rows) >= count or time.monotonic() > end:
            return rows
        time.sleep(0.05)


def test_the_score_is_logged_and_nothing_is_printed(project: Project) -> None:
    path = project.event("Stop")["transcript_path"]
    write_transcript(
        str(path), user_record("Please rename the file."), assistant_record(PADDED, "claude-opus-5-5")
    )
    assert stop(project, PADDED) == Run(0, "", "")
    (row,) = scores(project)
    expected = {
        "padding_count": 3, "query_type": "directive", "model": "claude-opus-5-5", "gate": "clear_drift", "escalate": False, "turn": 1,
        "prompt_id": "p1", "mode": "deterministic",
    }  # fmt: skip
    assert {name: row[name] for name in expected} == expected
    assert PADDED[slice(*row["matches"][0][:2])] == "Great question"
    assert "port" not in json.dumps({**row, "transcript": ""})


@pytest.mark.parametrize(
    ("text", "gate"),
    [
        ("", "empty"),
        (None, "empty"),
        (7, "empty"),
        ("```\nx\n```", "code_only"),
        ("Done.", "too_short"),
        ("\u597d" * 400, "other_script"),
        ("\ud800 \x00 " + PLAIN, "clean"),
    ],
)
def test_every_reply_gets_a_row(project: Project, text: object, gate: str) -> None:
    assert stop(project, text) == Run(0, "", "")
    assert [row["gate"] for row in scores(project)] == [gate]


def test_the_reply_is_read_from_the_transcript_if_the_event_lacks_it(project: Project) -> None:
    write_transcript(
        str(project.event("Stop")["transcript_path"]), user_record("Why?"), assistant_record(ONE_PHRASE)
    )
    event = project.event("Stop")
    assert project.hook("Stop", event) == Run(0, "", "")
    assert [row["padding_count"] for row in scores(project)] == [1]


def test_nothing_is_written_when_scoring_is_off(project: Project) -> None:
    own_settings(project, scoring={"mode": "off"})
    assert stop(project, PADDED) == Run(0, "", "")
    assert project.ledger("scores") == []


def test_a_reply_kept_at_the_users_request_is_redacted(project: Project) -> None:
    token = "ghp_" + "Ab3dEf6hIj9lMn2pQr5tUv8xYz1aBc4dEf7g"
    own_settings(project, ledger={"keep_text": ["replies"]})
    project.write(".claude/settings.json", {"memory": {"ledger": {"keep_text": ["replies"]}}})
    stop(project, "The key is %s and it works on both hosts of the shop." % token)
    (row,) = scores(project)
    assert token not in json.dumps(row)
    assert "works on both hosts" in row["text"]


@pytest.mark.parametrize(
    "later", [(), (assistant_record("It is."), user_record("And now?"))], ids=["at once", "later"]
)
def test_a_reply_that_might_repeat_private_text_is_not_kept(
    project: Project, later: tuple[object, ...]
) -> None:
    own_settings(project, ledger={"keep_text": ["replies"]})
    asked = user_record("Is <Private>the merger with Initech</private> on?")
    write_transcript(str(project.event("Stop")["transcript_path"]), asked, *later)
    stop(project, "The merger with Initech is on, as far as the notes say.")
    (row,) = scores(project)
    assert "text" not in row
    assert "Initech" not in json.dumps(row)


def test_a_reply_that_only_mentions_private_tags_is_kept(project: Project) -> None:
    own_settings(project, ledger={"keep_text": ["replies"]})
    path = str(project.event("Stop")["transcript_path"])
    write_transcript(
        path, b'{"type": "user", "private', user_record("Is the private key on both hosts of the shop?")
    )
    stop(project, "The <private> tag is documented.")
    (row,) = scores(project)
    assert row["text"]


def test_a_project_cannot_turn_on_keeping_replies(project: Project) -> None:
    project.write(
        ".claude/settings.json",
        {"memory": {"ledger": {"keep_text": ["replies"]}, "scoring": {"mode": "hybrid"}}},
    )
    stop(project, ONE_PHRASE)
    (row,) = scores(project)
    assert ("text" in row, row["mode"]) == (False, "deterministic")


def test_a_correction_is_injected_once_on_the_next_prompt(project: Project) -> None:
    own_settings(project, scoring={"holdout": 0})
    stop(project, PADDED)
    first, second = (project.prompt("Which port is it on the other host?", name) for name in ("p2", "p3"))
    assert "Style note" in first.context
    assert (second.context, second.message) == ("", "")
    assert first.message == "memory: showed Claude a note on style about its last reply"
    assert "a note on style" in project.cli("why", "p2").stdout
    assert [row["kind"] for row in project.ledger("drift")] == ["drift", "said"]


def test_a_prompt_that_follows_at_once_waits_for_the_correction(project: Project) -> None:
    own_settings(project, scoring={"holdout": 0})
    event = json.dumps(project.event("Stop", last_assistant_message=PADDED, prompt_id="p1")).encode()
    hook = [project.python, "-I", "-S", os.path.join(PLUGIN_ROOT, "hooks", "stop.py")]
    assert project.process(hook, event, CLAUDE_PROJECT_DIR=project.root) == Run(0, "", "")
    assert "Style note" in next_context(project)


def test_a_reply_too_long_for_a_pipe_is_read_from_the_transcript(project: Project) -> None:
    text = PADDED + " " + PLAIN * 600
    write_transcript(
        str(project.event("Stop")["transcript_path"]), user_record("Why?"), assistant_record(text)
    )
    assert stop(project, text) == Run(0, "", "")
    (row,) = scores(project)
    assert (row["padding_count"], row["words"] > 10_000) == (3, True)


def test_parallel_sessions_do_not_see_each_others_corrections(project: Project) -> None:
    own_settings(project, scoring={"holdout": 0})
    stop(project, PADDED, session="one")
    assert next_context(project, "other") == ""
    assert "Style note" in next_context(project, "one")


def test_a_correction_comes_before_memories_in_the_same_context(project: Project) -> None:
    own_settings(project, scoring={"holdout": 0})
    project.save(
        "Use Postgres for the billing database", "The billing service stores its invoices in Postgres 15."
    )
    stop(project, PADDED)
    context = next_context(project, text="Which database do we use for the billing service?")
    assert 0 <= context.find("Style note") < context.find("<memory-context>")


def test_a_notification_from_the_client_does_not_use_up_a_correction(project: Project) -> None:
    own_settings(project, scoring={"holdout": 0})
    stop(project, PADDED)
    assert next_context(project, text="<task-notification>done</task-notification>") == ""
    assert "Style note" in next_context(project)


@pytest.mark.parametrize("scoring", [{"holdout": 1}, {"corrections": False}])
def test_drift_is_not_corrected_in_the_control_group_or_with_corrections_off(
    project: Project, scoring: dict[str, object]
) -> None:
    own_settings(project, scoring=scoring)
    stop(project, PADDED)
    assert next_context(project) == ""
    assert project.ledger("drift")[0]["arm"] == ("control" if "holdout" in scoring else "none")


def test_a_reply_without_drift_cancels_a_pending_correction(project: Project) -> None:
    own_settings(project, scoring={"holdout": 0})
    stop(project, PADDED)
    stop(project, PLAIN, "p2")
    assert next_context(project) == ""


def test_hybrid_mode_adds_the_judges_grades_and_writes_the_override(project: Project) -> None:
    hybrid(project, answer(phrases=[{"index": 0, "filler": False}], EpAd=9))
    write_transcript(
        str(project.event("Stop")["transcript_path"]),
        user_record("Is it so?"),
        call_record("Bash", {}),
        result_record("ok"),
        assistant_record(ONE_PHRASE),
    )
    assert stop(project, ONE_PHRASE) == Run(0, "", "")
    (judged,) = eventually(project, "scores", "judged")
    (score,) = scores(project)
    assert (judged["id"], judged["outcome"], score["audit"]) == (score["id"], "ok", False)
    assert (judged["levels"]["EpAd"], judged["clamped"], judged["phrases"]) == (
        3,
        1,
        [["praise-opening", False]],
    )
    assert (score["padding_count"], score["gate"]) == (1, "padding_range")
    (override,) = eventually(project, "judge-overrides", "override")
    assert override["cleared"] == ["praise-opening"]
    (drift,) = eventually(project, "drift", "drift")
    assert (drift["categories"], drift["severity"]) == (["EpAd"], "high")


FAILURES = [
    pytest.param({"failure": "timeout"}, "timeout", False, id="timeout"),
    pytest.param({"delay": 3}, "timeout", False, id="too slow"),
    pytest.param({"text": "no JSON"}, "parse_error", False, id="malformed JSON"),
    pytest.param({"text": '{"SyA": "high"}'}, "parse_error", False, id="another shape"),
    pytest.param({"failure": "network"}, "network", False, id="network error"),
    pytest.param({"failure": "overloaded"}, "overloaded", False, id="overloaded"),
    pytest.param({"failure": "refused"}, "refused", False, id="refused"),
    pytest.param({"failure": "http_401"}, "http_401", True, id="key refused"),
]


@pytest.mark.parametrize(("reply", "outcome", "off"), FAILURES)
def test_a_judge_failure_is_logged_and_the_score_is_kept(
    project: Project, reply: dict[str, object], outcome: str, off: bool
) -> None:
    hybrid(project, reply)
    with open(os.path.join(project.config, "settings.json"), encoding="utf-8") as file:
        settings = json.load(file)
    settings["memory"]["scoring"]["judge"] = {"timeout_ms": 1000}
    own_settings(project, **settings["memory"])
    stop(project, ONE_PHRASE)
    (judged,) = eventually(project, "scores", "judged")
    assert judged["outcome"] == outcome
    assert "levels" not in judged
    assert [row["padding_count"] for row in scores(project)] == [1]
    assert project.ledger("judge-overrides") == []
    if off:
        eventually(project, "events", "judge")
        stop(project, ONE_PHRASE, "p2")
        project.wait_for_background()
        assert len(scores(project, "judged")) == 1
        assert len([row for row in project.ledger("events") if row["kind"] == "judge"]) == 1


def test_hybrid_mode_without_a_key_is_off_for_the_session_and_logged_once(project: Project) -> None:
    own_settings(project, scoring={"mode": "hybrid"})
    for number in range(2):
        stop(project, ONE_PHRASE, "p%d" % number)
        eventually(project, "events", "judge")
    assert [row["outcome"] for row in scores(project, "judged")] == ["no_key"]
    assert len([row for row in project.ledger("events") if row["kind"] == "judge"]) == 1


@pytest.mark.parametrize("mode", ["deterministic", "shadow"])
def test_other_modes_never_ask_a_judge(project: Project, mode: str) -> None:
    hybrid(project, answer())
    own_settings(project, scoring={"mode": mode}, judge={"backend": "scripted"})
    stop(project, ONE_PHRASE)
    project.wait_for_background()
    assert [row["escalate"] for row in scores(project)] == [True]
    assert scores(project, "judged") == project.ledger("judge-calls") == []


def test_no_judge_runs_in_a_project_that_sets_an_api_address(project: Project) -> None:
    hybrid(project, answer())
    project.write(".claude/settings.json", {"env": {"ANTHROPIC_BASE_URL": "http://127.0.0.1:9"}})
    stop(project, ONE_PHRASE)
    project.wait_for_background()
    assert project.ledger("judge-calls") == []


def audited_prompt(text: str) -> str:
    """Return a prompt's id with which a reply of this text belongs to the audit sample."""
    prompts = ("p%d" % number for number in range(5000))
    return next(name for name in prompts if is_sampled("audit", score_id(SESSION, name, text), 0.02))


def test_audited_replies_are_judged_without_counting_as_drift(project: Project) -> None:
    hybrid(project, answer(VDet=3))
    stop(project, PLAIN, audited_prompt(PLAIN))
    (judged,) = eventually(project, "scores", "judged")
    assert [(row["id"], row["audit"]) for row in scores(project)] == [(judged["id"], True)]
    project.wait_for_background()
    assert project.ledger("drift") == []


@posix("lists the modules of POSIX")
def test_the_hook_imports_only_the_allowed_modules(project: Project) -> None:
    stop(project, PADDED)
    event = {**project.event("Stop"), "last_assistant_message": PADDED}
    found, run = modules_of(
        project, [os.path.join(PLUGIN_ROOT, "hooks", "stop.py")], json.dumps(event).encode()
    )
    assert run.returncode == 0
    assert found <= ALLOWED_IMPORTS


@pytest.mark.parametrize(
    ("tasks", "scored"),
    [
        pytest.param([{"id": "a1", "type": "subagent", "status": "running"}], 0, id="a sub-agent"),
        pytest.param([{"id": "w1", "type": "workflow", "status": "pending"}], 0, id="a workflow"),
        pytest.param([{"id": "x"}], 0, id="of no known type"),
        pytest.param([{"id": "b1", "type": "shell", "command": "npm run dev"}], 1, id="a shell command"),
        pytest.param([], 1, id="none"),
        pytest.param("many", 1, id="not a list"),
    ],
)
def test_a_reply_is_not_scored_while_subagents_are_running(
    project: Project, tasks: object, scored: int
) -> None:
    assert stop(project, PLAIN, background_tasks=tasks).returncode == 0
    assert len(scores(project)) == scored
