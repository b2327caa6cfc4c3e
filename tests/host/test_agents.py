"""Hooks under Codex CLI: its events mean the same as those of Claude Code, and it gets answers that it accepts."""

from __future__ import annotations

import json
import os
from typing import Any

import pytest

from memory_plugin.host.agents import HOSTS, translated_events, translated_output
from tests.events import SCRIPTS
from tests.project import PLUGIN_ROOT, Project, Run

TITLE = "Billing runs on Postgres"
PATCH = "*** Begin Patch\n*** Update File: src/a.py\n-1\n+2\n*** Add File: src/b.py\n+3\n*** End Patch\n"


def codex(project: Project, event: str, name: str = "", **fields: object) -> Run:
    """Run a hook as Codex does; `name` is Codex's name for the event, if it differs."""
    payload = {
        "session_id": "c1",
        "turn_id": "t1",
        "cwd": project.root,
        "hook_event_name": name or event,
        **fields,
    }
    script = os.path.join(PLUGIN_ROOT, "hooks", SCRIPTS[event])
    return project.script(("-I", "-S"), [script, "codex"], json.dumps(payload).encode())


def context_of(run: Run) -> str:
    assert (run.returncode, run.stderr) == (0, "")
    return str(run.json["hookSpecificOutput"]["additionalContext"]) if run.stdout else ""


def test_a_prompt_recalls_and_the_line_names_the_agent(project: Project) -> None:
    project.save(TITLE, "Because of row-level security.", "--asked-as", "which database does billing use")
    run = codex(project, "UserPromptSubmit", prompt="which database does billing use, and why?")
    assert context_of(run).endswith("</memory-context>"), (
        "only the start of a session says where the program is"
    )
    assert TITLE in context_of(run)
    assert run.json["systemMessage"].startswith('memory: showed Codex "')
    assert project.ledger("recalls")[-1]["prompt_id"] == "t1"


def test_the_start_of_a_session_says_where_the_program_is(project: Project) -> None:
    project.save(TITLE, "Because of row-level security.")
    project.cli("refresh")
    text = context_of(codex(project, "SessionStart", source="startup"))
    assert TITLE in text
    assert text.endswith('`memory` is "%s"' % os.path.join(PLUGIN_ROOT, "bin", "memory"))


def test_a_guard_that_would_ask_holds_the_call_back_once(project: Project) -> None:
    project.save(
        "No deployment by hand",
        "Use the pipeline.",
        "--guard-command",
        "make deploy",
        "--guard-action",
        "ask",
    )
    call: dict[str, Any] = {"tool_name": "Bash", "tool_input": {"command": "make deploy"}}
    first = codex(project, "PreToolUse", **call, tool_use_id="u1")
    assert first.json["hookSpecificOutput"]["permissionDecision"] == "deny"
    assert codex(project, "PreToolUse", **call, tool_use_id="u2").stdout == ""


def test_a_patch_recalls_for_each_of_its_files(project: Project) -> None:
    project.save("Ports are fixed", "See the list.", "--file", "src/b.py")
    project.save("Billing rounds down", "Never up.", "--file", "src/a.py")
    run = codex(project, "PreToolUse", tool_name="apply_patch", tool_input={"command": PATCH})
    assert all(title in context_of(run) for title in ("Ports are fixed", "Billing rounds down"))


def test_a_guard_on_any_file_holds_a_patch_back(project: Project) -> None:
    project.save("Billing rounds down", "Never up.", "--file", "src/a.py")
    project.save("Ports are fixed", "See the list.", "--guard-file", "src/b.py")
    run = codex(project, "PreToolUse", tool_name="apply_patch", tool_input={"command": PATCH})
    output = run.json["hookSpecificOutput"]
    assert output["permissionDecision"] == "deny"
    reason = output["permissionDecisionReason"]
    assert all(title in reason for title in ("Ports are fixed", "Billing rounds down"))


@pytest.mark.parametrize(
    "last", ["*** Add File: db/x.sql\n+1\n", "*** Update File: a.py\n*** Move to: db/x.sql\n"]
)
def test_a_guard_sees_every_file_of_a_patch(project: Project, last: str) -> None:
    project.save("Migrations are frozen", "Ask Ada.", "--guard-file", "db/")
    files = "".join("*** Add File: src/f%d.py\n+1\n" % number for number in range(12))
    call = {"command": "*** Begin Patch\n%s%s*** End Patch\n" % (files, last)}
    run = codex(project, "PreToolUse", tool_name="apply_patch", tool_input=call)
    assert run.json["hookSpecificOutput"]["permissionDecision"] == "deny"
    assert run.json["hookSpecificOutput"]["permissionDecisionReason"].count("Migrations are frozen") <= 3


def test_a_failed_command_recalls(project: Project) -> None:
    asked = ("--asked-as", "make: *** No rule to make target")
    project.save("No rule to make target release", "Run ./configure first.", *asked, category="runbook")
    fields: dict[str, object] = {"tool_name": "Bash", "tool_input": {"command": "make release"}}
    output = "make: *** No rule to make target 'release'.  Stop.\n"
    run = codex(project, "PostToolUseFailure", "PostToolUse", **fields, tool_response=output)
    assert "./configure" in context_of(run)
    assert run.json["hookSpecificOutput"]["hookEventName"] == "PostToolUse"
    assert codex(project, "PostToolUseFailure", "PostToolUse", **fields, tool_response="done\n").stdout == ""


def test_a_command_that_needs_approval_is_left_to_the_command(project: Project) -> None:
    call: dict[str, Any] = {"tool_name": "Bash", "tool_input": {"command": "memory accept --all"}}
    assert codex(project, "PreToolUse", **call, tool_use_id="u1").stdout == ""
    run = project.cli("forget", "--now", project.save(TITLE, "Because."), CODEX_THREAD_ID="c1")
    assert run.returncode != 0
    assert "the user must approve this" in run.stderr


def test_an_unknown_agent_prints_nothing(project: Project) -> None:
    script = os.path.join(PLUGIN_ROOT, "hooks", SCRIPTS["Stop"])
    run = project.script(("-I", "-S"), [script, "nobody"], b"{}")
    assert (run.returncode, run.stdout) == (0, "")


@pytest.mark.parametrize(
    ("payload", "expected"),
    [
        ({"hook_event_name": "Stop", "turn_id": "t"}, [("Stop", "t")]),
        ({"hook_event_name": "PostToolUse", "tool_response": "all good"}, []),
        ({"hook_event_name": "PostToolUse", "tool_response": {"not": "a text"}}, []),
        (
            {
                "hook_event_name": "PreToolUse",
                "tool_name": "apply_patch",
                "tool_input": {"command": "no patch"},
            },
            [],
        ),
        (
            {"hook_event_name": "PreToolUse", "tool_name": "apply_patch", "tool_input": []},
            [("PreToolUse", None)],
        ),
    ],
    ids=["turn-id", "worked", "no-text", "no-file", "no-command"],
)
def test_events(payload: dict[str, object], expected: list[tuple[object, object]]) -> None:
    events = translated_events("codex", payload)
    assert [(event["hook_event_name"], event["prompt_id"]) for event in events] == expected


@pytest.mark.parametrize(
    ("line", "translated"),
    [
        ('memory: showed Claude "Claude /memory:review"', 'memory: showed Codex "Claude /memory:review"'),
        ("memory: 1 pending memory. To review: /memory:review", "memory: 1 pending memory. To review: memory review"),
        ("filler rules: /memory:score-replies", "filler rules: memory replies tune"),
        ("to add some: /memory:phrases", "to add some: memory check phrases"),
    ],
)  # fmt: skip
def test_a_line_names_the_agent_and_what_it_has(line: str, translated: str) -> None:
    assert translated_output("codex", {}, {"systemMessage": line}) == {"systemMessage": translated}


def test_the_files_of_hooks_name_the_same_scripts() -> None:
    def commands(name: str) -> set[tuple[str, str]]:
        with open(os.path.join(PLUGIN_ROOT, "hooks", name), encoding="utf-8") as file:
            events = json.load(file)["hooks"]
        same = {"PostToolUse": "PostToolUseFailure"}
        return {
            (same.get(event, event), groups[0]["hooks"][0]["command"].replace("${CLAUDE_", "${"))
            for event, groups in events.items()
        }

    for host in HOSTS:
        named = {
            (event, command.replace('.py" %s' % host, '.py"')) for event, command in commands(host + ".json")
        }
        assert named == commands("hooks.json")


def test_capture_reads_the_transcript_of_codex(project: Project) -> None:
    words = {
        "user": "no, we never mock the database here",
        "assistant": "Understood: the tests use the real database from now on.",
    }
    rows = [
        {"type": "message", "id": role, "role": role, "content": [{"type": "input_text", "text": text}]}
        for role, text in words.items()
    ]
    lines = (json.dumps({"type": "response_item", "payload": row}) for row in rows)
    path = project.write("rollout.jsonl", "\n".join(lines))
    reply: dict[str, Any] = {
        "last_assistant_message": words["assistant"],
        "transcript_path": path,
        "stop_hook_active": False,
    }
    assert codex(project, "Stop", **reply).stdout == ""
    project.wait_for_background()
    (found,) = project.candidates()
    assert found["quote"] == words["user"]
