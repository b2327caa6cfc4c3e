"""The Stop hook as a process: the ledger line, silence, drift and its correction, the judge that comes later."""

from __future__ import annotations

import json
import os
import time
from typing import Any

import pytest

from tests.project import PLUGIN_ROOT, SESSION, Project, Run
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
    own_settings(project, scoring={"mode": "hybrid", "judge": {}, **scoring}, judge={"backend": "scripted"})
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


def test_the_score_is_in_the_ledger_and_nothing_is_printed(project: Project) -> None:
    path = project.event("Stop")["transcript_path"]
    write_transcript(
        str(path), user_record("Please rename the file."), assistant_record(PADDED, "claude-opus-5-5")
    )
    assert stop(project, PADDED) == Run(0, "", "")
    (row,) = scores(project)
    expected = {
        "padding_count": 3, "query_type": "directive", "model": "claude-opus-5-5", "gate": "clear_drift", "escalate": False, "turn": 1,
        "prompt_id": "p1", "mode": "deterministic", "record": "a-Great qu",
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
def test_any_reply_has_a_row(project: Project, text: object, gate: str) -> None:
    assert stop(project, text) == Run(0, "", "")
    assert [row["gate"] for row in scores(project)] == [gate]


def test_without_the_text_in_the_event_the_transcript_tells(project: Project) -> None:
    write_transcript(
        str(project.event("Stop")["transcript_path"]), user_record("Why?"), assistant_record(ONE_PHRASE)
    )
    event = project.event("Stop")
    assert project.hook("Stop", event) == Run(0, "", "")
    assert [row["padding_count"] for row in scores(project)] == [1]


def test_switched_off_nothing_is_written(project: Project) -> None:
    own_settings(project, scoring={"enabled": False})
    assert stop(project, PADDED) == Run(0, "", "")
    assert project.ledger("scores") == []


def test_texts_are_kept_only_when_the_user_says_so_and_redacted(project: Project) -> None:
    token = "ghp_" + "Ab3dEf6hIj9lMn2pQr5tUv8xYz1aBc4dEf7g"
    own_settings(project, scoring={"keep_text": True})
    project.write(".claude/settings.json", {"memory": {"scoring": {"keep_text": True}}})
    stop(project, "The key is %s and it works on both hosts of the shop." % token)
    (row,) = scores(project)
    assert token not in json.dumps(row)
    assert "works on both hosts" in row["text"]


@pytest.mark.parametrize(
    "later", [(), (assistant_record("It is."), user_record("And now?"))], ids=["at once", "later"]
)
def test_a_reply_that_may_repeat_a_private_part_is_not_kept(
    project: Project, later: tuple[object, ...]
) -> None:
    own_settings(project, scoring={"keep_text": True})
    asked = user_record("Is <Private>the merger with Initech</private> on?")
    write_transcript(str(project.event("Stop")["transcript_path"]), asked, *later)
    stop(project, "The merger with Initech is on, as far as the notes say.")
    (row,) = scores(project)
    assert "text" not in row
    assert "Initech" not in json.dumps(row)


def test_a_reply_about_private_parts_is_kept(project: Project) -> None:
    own_settings(project, scoring={"keep_text": True})
    path = str(project.event("Stop")["transcript_path"])
    write_transcript(
        path, b'{"type": "user", "private', user_record("Is the private key on both hosts of the shop?")
    )
    stop(project, "The <private> tag is documented.")
    (row,) = scores(project)
    assert row["text"]


def test_a_project_cannot_have_texts_kept(project: Project) -> None:
    project.write(".claude/settings.json", {"memory": {"scoring": {"keep_text": True, "mode": "hybrid"}}})
    stop(project, ONE_PHRASE)
    (row,) = scores(project)
    assert ("text" in row, row["mode"]) == (False, "deterministic")


def test_the_next_prompt_carries_one_correction_once(project: Project) -> None:
    own_settings(project, scoring={"holdout": 0})
    stop(project, PADDED)
    first, second = next_context(project), next_context(project)
    assert "Target" in first
    assert second == ""
    assert [row["kind"] for row in project.ledger("drift")] == ["drift", "said"]


def test_parallel_sessions_do_not_see_each_others_corrections(project: Project) -> None:
    own_settings(project, scoring={"holdout": 0})
    stop(project, PADDED, session="one")
    assert next_context(project, "other") == ""
    assert "Target" in next_context(project, "one")


def test_a_correction_stands_before_memories_in_one_context(project: Project) -> None:
    own_settings(project, scoring={"holdout": 0})
    project.save(
        "Use Postgres for the billing database", "The billing service stores its invoices in Postgres 15."
    )
    stop(project, PADDED)
    context = next_context(project, text="Which database do we use for the billing service?")
    assert 0 <= context.find("Target") < context.find("<memory-context>")


def test_a_notice_of_the_client_takes_no_correction(project: Project) -> None:
    own_settings(project, scoring={"holdout": 0})
    stop(project, PADDED)
    assert next_context(project, text="<task-notification>done</task-notification>") == ""
    assert "Target" in next_context(project)


@pytest.mark.parametrize("scoring", [{"holdout": 1}, {"corrections": False}])
def test_the_control_share_and_a_switch_leave_drift_uncorrected(
    project: Project, scoring: dict[str, object]
) -> None:
    own_settings(project, scoring=scoring)
    stop(project, PADDED)
    assert next_context(project) == ""
    assert project.ledger("drift")[0]["arm"] == ("control" if "holdout" in scoring else "none")


def test_a_reply_in_line_takes_back_what_waited(project: Project) -> None:
    own_settings(project, scoring={"holdout": 0})
    stop(project, PADDED)
    stop(project, PLAIN, "p2")
    assert next_context(project) == ""


def test_hybrid_enriches_the_record_and_writes_the_override(project: Project) -> None:
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
    assert (judged["id"], judged["outcome"], judged["why"]) == (score["id"], "ok", "escalated")
    assert (judged["levels"]["EpAd"], judged["clamped"], judged["phrases"]) == (
        3,
        1,
        [["praise-opening", False]],
    )
    assert (score["padding_count"], score["gate"]) == (1, "padding_range")
    (override,) = eventually(project, "judge-overrides", "override")
    assert (override["cleared"], override["cleared_spans"]) == (["praise-opening"], [[0, 14]])
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
def test_a_failure_is_named_and_the_score_stays(
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


def test_without_a_key_hybrid_is_off_for_the_session_and_says_so_once(project: Project) -> None:
    own_settings(project, scoring={"mode": "hybrid", "judge": {}})
    for number in range(2):
        stop(project, ONE_PHRASE, "p%d" % number)
        eventually(project, "events", "judge")
    assert [row["outcome"] for row in scores(project, "judged")] == ["no_key"]
    assert len([row for row in project.ledger("events") if row["kind"] == "judge"]) == 1


@pytest.mark.parametrize("mode", ["deterministic", "shadow"])
def test_other_modes_ask_nobody(project: Project, mode: str) -> None:
    hybrid(project, answer())
    own_settings(project, scoring={"mode": mode, "judge": {}}, judge={"backend": "scripted"})
    stop(project, ONE_PHRASE)
    project.wait_for_background()
    assert [row["escalate"] for row in scores(project)] == [True]
    assert scores(project, "judged") == project.ledger("judge-calls") == []


def test_a_project_that_sets_addresses_gets_no_judge(project: Project) -> None:
    hybrid(project, answer())
    project.write(".claude/settings.json", {"env": {"ANTHROPIC_BASE_URL": "http://127.0.0.1:9"}})
    stop(project, ONE_PHRASE)
    project.wait_for_background()
    assert project.ledger("judge-calls") == []


def test_the_audit_share_is_judged_apart(project: Project) -> None:
    hybrid(project, answer(VDet=3), audit_share=1)
    stop(project, PLAIN)
    (judged,) = eventually(project, "scores", "judged")
    assert judged["why"] == "audit"
    assert [row["audit"] for row in scores(project)] == [True]
    project.wait_for_background()
    assert project.ledger("drift") == []


def test_the_hook_imports_next_to_nothing(project: Project) -> None:
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
def test_a_reply_before_sub_agents_are_done_is_not_scored(
    project: Project, tasks: object, scored: int
) -> None:
    assert stop(project, PLAIN, background_tasks=tasks).returncode == 0
    assert len(scores(project)) == scored
