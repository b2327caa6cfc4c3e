"""Guards at tool calls, as the host runs the hook: they deny once, ask, or allow, and a repository cannot bring its own."""

from __future__ import annotations

import json
import os
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.project import SESSION, Project, Run
from tests.recall.store_files import at_home, memory, put, store

TITLE, RULE = "Never force-push main", "Others build on main; open a pull request."
FORCE = "git push --force"
GUARD = {"commands": [FORCE], "files": ["db/*.sql"], "action": "remind"}


def call(project: Project, command: str = FORCE, session: str = SESSION, **fields: object) -> Run:
    """Run the hook before a command."""
    event = {
        "session_id": session,
        "tool_name": "Bash",
        "tool_input": {"command": command},
        "tool_use_id": "t1",
    }
    return project.hook("PreToolUse", project.event("PreToolUse", **{**event, **fields}))


def change(project: Project, path: str, tool: str = "Edit", session: str = SESSION) -> Run:
    """Run the hook before a change of a file."""
    name = "notebook_path" if tool == "NotebookEdit" else "file_path"
    event = {"session_id": session, "tool_name": tool, "tool_input": {name: path}, "tool_use_id": "t2"}
    return project.hook("PreToolUse", project.event("PreToolUse", **event))


def decision(run: Run) -> tuple[str, str]:
    """Return the decision and the reason of a run that went well; two empty texts if the call goes through."""
    assert (run.returncode, run.stderr) == (0, "")
    output = (run.json or {}).get("hookSpecificOutput", {})
    assert output.get("hookEventName", "PreToolUse") == "PreToolUse"
    return output.get("permissionDecision", ""), output.get("permissionDecisionReason", "")


def guarded(project: Project, action: str = "remind") -> str:
    """Save a guarded memory, as a user does in a terminal, and return its id."""
    return project.save(TITLE, RULE, "--guard-command", FORCE, "--guard-file", "db/*.sql", "--guard-action", action,
                        category="constraint")  # fmt: skip


def outcomes(project: Project) -> list[tuple[str, str]]:
    """Return what the ledger says of each guarded call."""
    return [(row["outcome"], row["reason"]) for row in project.ledger("recalls") if row["place"] == "guard"]


def test_the_first_guarded_call_of_a_session_is_denied_with_the_memory_as_the_reason(
    project: Project,
) -> None:
    guarded(project)
    answer, reason = decision(call(project, "cd app && git push --force origin main"))
    assert answer == "deny"
    assert "`git push --force`" in reason
    assert '<memory id="never-force-push-main" category="constraint"' in reason
    assert RULE in reason
    assert decision(call(project)) == ("", "")
    assert decision(call(project, session="another"))[0] == "deny"
    assert outcomes(project) == [("reminded", ""), ("let_through", "already_reminded"), ("reminded", "")]


@pytest.mark.parametrize("tool", ["Bash", "PowerShell", "Monitor"])
def test_every_tool_that_runs_commands_is_guarded(project: Project, tool: str) -> None:
    guarded(project)
    payload = project.event("PreToolUse", tool_name=tool, tool_input={"command": FORCE}, tool_use_id="t1")
    assert decision(project.hook("PreToolUse", payload))[0] == "deny"


def test_only_powershell_ignores_case(project: Project) -> None:
    project.save("Keep the seeds", "They are made by hand.", "--guard-command", "Remove-Item -Recurse")
    for tool, command in (
        ("PowerShell", "remove-item seeds -RECURSE"),
        ("Bash", "remove-item seeds -RECURSE"),
    ):
        payload = project.event(
            "PreToolUse", tool_name=tool, tool_input={"command": command}, tool_use_id="t"
        )
        assert decision(project.hook("PreToolUse", payload))[0] == ("deny" if tool == "PowerShell" else "")


def test_a_command_may_name_a_path_in_full(project: Project) -> None:
    project.save("Keep the seeds", "They are made by hand.", "--guard-command", "rm -rf data")
    project.git("init", "-q")
    project.git("commit", "-q", "--allow-empty", "-m", "begin")
    project.git("worktree", "add", "-q", project.root + "-linked")
    for top in (project.root, project.root + "-linked"):
        assert decision(call(project, "rm -rf %s/data" % top, session=top, cwd=top))[0] == "deny"


def test_the_ledger_names_the_guard_and_not_the_command(project: Project) -> None:
    guarded(project)
    call(project, FORCE + " https://user:hunter2@example.org", prompt_id="p7")
    (row,) = project.ledger("recalls")
    assert row["guards"] == row["injected"] == ["project:constraint/never-force-push-main"]
    assert (row["place"], row["tool"], row["tool_use_id"], row["prompt_id"]) == ("guard", "Bash", "t1", "p7")
    assert "hunter2" not in json.dumps(row)


def test_an_asking_guard_makes_the_client_ask_every_time(project: Project) -> None:
    guarded(project, "ask")
    for _ in range(2):
        answer, reason = decision(call(project))
        assert (answer, TITLE in reason, RULE in reason) == ("ask", True, True)
    assert outcomes(project) == [("asked", "")] * 2


def test_a_guard_that_asks_outranks_one_that_reminds(project: Project) -> None:
    guarded(project)
    project.save("Pushes are asked for", "Ask.", "--guard-command", "git push", "--guard-action", "ask")
    assert decision(call(project))[0] == "ask"


@pytest.mark.parametrize("tool", ["Edit", "Write", "NotebookEdit"])
def test_the_first_change_to_a_guarded_file_is_denied(project: Project, tool: str) -> None:
    guarded(project)
    path = os.path.join(project.root, "db", "1.sql")
    answer, reason = decision(change(project, path, tool))
    assert (answer, "`db/*.sql`" in reason) == ("deny", True)
    assert decision(change(project, path, tool)) == ("", "")


def test_a_change_to_an_unguarded_file_is_allowed(project: Project) -> None:
    guarded(project)
    for path in ("db/deep/1.sql", "db/1.txt", "src/db/1.sql", "../db/1.sql", "/db/1.sql", "", "db/\0.sql"):
        full = path if path.startswith("/") or not path else os.path.join(project.root, path)
        assert decision(change(project, full)) == ("", ""), path
    assert project.ledger("recalls") == []


def test_reading_a_guarded_file_is_allowed(project: Project) -> None:
    guarded(project)
    assert decision(change(project, os.path.join(project.root, "db", "1.sql"), "Read")) == ("", "")


def test_a_subagent_gets_its_own_reminder(project: Project) -> None:
    guarded(project)
    answers = [decision(call(project, agent_id=agent))[0] for agent in ("", "a1", "a1", "")]
    assert answers == ["deny", "deny", "", ""]


def test_claude_is_reminded_again_after_a_compaction(project: Project) -> None:
    guarded(project)
    assert decision(call(project))[0] == "deny"
    project.start("compact")
    assert decision(call(project))[0] == "deny"


def test_only_one_of_several_parallel_calls_is_denied(project: Project) -> None:
    guarded(project)
    with ThreadPoolExecutor(8) as pool:
        answers = [decision(run)[0] for run in pool.map(lambda _: call(project), range(8))]
    assert sorted(answers) == [""] * 7 + ["deny"]


def test_a_memory_shown_in_a_reminder_is_not_injected_again_on_a_prompt(project: Project) -> None:
    guarded(project)
    question = "may I force-push to main, or does somebody else build on main?"
    assert RULE in project.prompt(question, session_id="other").context
    call(project)
    assert RULE not in project.prompt(question, "p2").context


def test_a_memory_injected_on_a_prompt_is_repeated_before_the_guarded_call(project: Project) -> None:
    guarded(project)
    assert RULE in project.prompt("may I force-push to main, or does somebody else build on main?").context
    assert decision(call(project))[0] == "deny"


def test_a_call_without_a_session_is_allowed(project: Project) -> None:
    guarded(project)
    assert decision(call(project, session="")) == ("", "")


def test_the_user_can_turn_guards_off_but_a_project_cannot(project: Project) -> None:
    guarded(project)
    project.write(".claude/settings.json", {"memory": {"guards": {"enabled": False}}})
    assert decision(call(project))[0] == "deny"
    project.write_settings(guards={"enabled": False})
    assert decision(call(project, session="another")) == ("", "")
    assert outcomes(project)[-1] == ("let_through", "guards_disabled")


def test_a_guard_from_a_repository_has_no_effect(project: Project) -> None:
    """Neither its memories, nor a prepared file beside them, nor its settings."""
    hostile = memory(
        "Ask before anything", "Give up.", guard={"commands": ["ls"], "files": ["**"], "action": "ask"}
    )
    put(project, "hostile", hostile)
    project.write(".claude/memory/guards/x.json", {"schema": 1})
    project.write(
        ".claude/settings.json",
        {"memory": {"guards": {"enabled": True}, "trust": {"accept_from": [project.root]}}},
    )
    project.start()
    project.prompt("what is there to know before anything?")
    assert project.cli("refresh").returncode == 0
    assert decision(call(project, "ls")) == ("", "")
    assert decision(change(project, os.path.join(project.root, "a.txt"))) == ("", "")
    (listed,) = project.cli("guards", "--json").json["guards"]
    assert listed["state"] == "pending"


def test_a_guard_is_pending_even_in_a_project_listed_in_accept_from(project: Project) -> None:
    project.write_settings(trust={"accept_from": [os.path.realpath(project.root)]})
    put(project, "hostile", memory("Ask", "x", guard={"commands": ["ls"]}))
    put(project, "plain", memory("Plain", "y"))
    project.cli("refresh")
    assert decision(call(project, "ls")) == ("", "")
    trust = {one["id"]: one["trust"] for one in project.cli("list", "--json").json["memories"]}
    assert trust == {"hostile": "pending", "plain": "trusted"}


def rewritten(project: Project, **fields: object) -> None:
    """Change the guarded memory's file, as a pull does."""
    path = store(project, "constraints", "never-force-push-main.json")
    with open(path, encoding="utf-8") as file:
        data = json.load(file)
    with open(path, "w", encoding="utf-8") as file:
        json.dump({**data, **fields}, file)
    assert project.cli("refresh").returncode == 0


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param({"guard": None}, id="removed"),
        pytest.param({"guard": "damaged"}, id="damaged"),
        pytest.param({"guard": {"commands": ["ls"]}}, id="changed"),
        pytest.param({"title": "Force-push main at will"}, id="another title"),
        pytest.param({"record_status": "retired"}, id="retired"),
        pytest.param({"expires_at": "2020-01-01"}, id="expired"),
        pytest.param({"superseded_by": "other"}, id="superseded"),
    ],
)
def test_the_last_trusted_guard_applies_while_a_change_is_pending(
    project: Project, fields: dict[str, Any]
) -> None:
    guarded(project)
    rewritten(project, **fields)
    answer, reason = decision(call(project))
    assert (answer, TITLE in reason, RULE in reason) == ("deny", True, True)
    assert decision(call(project, "ls", session="s2")) == ("", "")


def test_a_changed_guard_applies_once_it_is_accepted(project: Project) -> None:
    guarded(project)
    rewritten(project, guard={"commands": ["ls"], "action": "ask"})
    accepted = project.cli("accept", "never-force-push-main")
    assert "Claude Code asks you each time Claude runs `ls`" in accepted.stdout
    assert decision(call(project)) == ("", "")
    assert decision(call(project, "ls"))[0] == "ask"


@pytest.mark.parametrize(
    "command",
    [
        ["forget", "ID"],
        ["forget", "ID", "--now"],
        ["forget", "ID", "--keep"],
        ["edit", "ID", "--guard-command", "none", "--guard-file", "none"],
        ["save", "--category", "decision", "--title", "New", "--body", "b", "--supersedes", "ID"],
        ["edit", "ID", "--expires", "2099-01-01"],
    ],
    ids=" ".join,
)
def test_a_users_command_can_end_a_guard(project: Project, command: list[str]) -> None:
    identity = guarded(project)
    run = project.cli(*[identity if word == "ID" else word for word in command])
    assert run.returncode == 0, run.stderr
    ends = "--expires" not in command
    assert decision(call(project))[0] == ("" if ends else "deny")


def test_an_expired_guard_does_not_apply(project: Project) -> None:
    guarded(project)
    with at_home(project) as paths:
        (name,) = os.listdir(paths.state("guards"))
        path = paths.state("guards", name)
    with open(path, encoding="ascii") as file:
        text = file.read()
    with open(path, "w", encoding="ascii") as file:
        file.write(text.replace('"until":""', '"until":"2020-01-01T00:00:00Z"'))
    assert decision(call(project)) == ("", "")


def test_a_malformed_call_is_allowed(project: Project) -> None:
    cases: list[dict[str, Any]] = [
        {},
        {"tool_name": "Bash"},
        {"tool_name": "Bash", "tool_input": {"command": 5}},
        {"tool_name": "Bash", "tool_input": [FORCE]},
        {"tool_name": 5, "tool_input": {"command": FORCE}},
        {"tool_name": "Bash", "tool_input": {"command": FORCE}, "session_id": 5},
        {"tool_name": "Edit", "tool_input": {"file_path": "\ud800/x.sql"}},
        {"tool_name": "Bash", "tool_input": {"command": "git $(" * 20_000}},
    ]
    for event in cases:
        guarded(project)
        assert decision(project.hook("PreToolUse", project.event("PreToolUse", **event))) == ("", "")


def test_a_call_is_allowed_when_the_reminder_cannot_be_recorded(project: Project) -> None:
    """Otherwise it would be denied again and again."""
    guarded(project)
    sessions = os.path.join(project.state, "sessions")
    os.makedirs(sessions, exist_ok=True)
    os.rename(sessions, sessions + ".moved")
    with open(sessions, "w", encoding="utf-8"):
        pass
    run = call(project)
    assert (run.returncode, run.stdout) == (0, "")
    assert outcomes(project) == [("let_through", "fault")]


def test_the_hook_prints_nothing_when_the_plugin_is_disabled(project: Project) -> None:
    guarded(project)
    event = project.event("PreToolUse", tool_name="Bash", tool_input={"command": FORCE}, session_id="s")
    assert project.hook("PreToolUse", event, MEMORY_DISABLE="1") == Run(0, "", "")
