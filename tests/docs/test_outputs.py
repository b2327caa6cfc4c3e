"""No output carries a key or a terminal escape that was planted in its input."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.kernel.judge.bench import KEY, payload
from tests.kernel.judge.server import Server, answer
from tests.project import Project
from tests.recall.store_files import memory, no_threshold, put, put_accepted
from tests.replies.builders import assistant_record, user_record, write_transcript
from tests.sessions.bench import IDS, Bench, push_scores, work
from tests.sessions.langfuse.server import KEYS, Langfuse

SECRET = "ghp_" + "a8Kd02mNq7Zx4Wv9Lp3Rt6Yb1Cf5Hj0GsE2U"
ESCAPE = "\x1b[31m\u202e"
HOSTILE = " x%s%s\u202c\x1b[0m " % (SECRET, ESCAPE)
TITLE = "Use Postgres for the billing database"
ASK = "Which database do we use for the billing service?"


@pytest.fixture
def planted(project: Project) -> Project:
    """Return a project with a trusted memory whose fields hold a key and an escape, written without the commands."""
    no_threshold(project)
    fields = {"tags": ["billing" + HOSTILE], "related_files": ["db/a.sql"]}
    body = "The billing service stores its invoices in Postgres 15." + HOSTILE
    put_accepted(project, "use-postgres", memory(TITLE + HOSTILE, body, **fields))
    return project


def at_memory_file(project: Project) -> str:
    """Save a memory."""
    project.save("Never" + HOSTILE + "again", "Because" + HOSTILE, "--tag", "t" + HOSTILE)
    return _files(os.path.join(project.root, ".claude", "memory"), without="use-postgres.json")


def at_index(project: Project) -> str:
    """Index the memory and read the index file."""
    project.prompt(ASK)
    return _files(os.path.join(project.state, "index"))


def at_prompt(project: Project) -> str:
    """Answer a hostile prompt."""
    run = project.prompt(ASK + HOSTILE)
    assert "Postgres 15" in run.context
    return run.stdout + run.stderr + json.dumps(run.json, ensure_ascii=False)


def at_session_start(project: Project) -> str:
    """Start a session, which lists titles."""
    project.prompt(ASK)
    run = project.start()
    assert "Postgres" in run.context
    return run.stdout + run.stderr + json.dumps(run.json, ensure_ascii=False)


def at_tool_call(project: Project) -> str:
    """Edit a file that the memory names."""
    project.prompt("Unrelated words", session_id="other")
    tool = {"tool_name": "Edit", "tool_input": {"file_path": os.path.join(project.root, "db", "a.sql")}}
    run = project.hook(
        "PreToolUse", project.event("PreToolUse", session_id="other", tool_use_id="u1", **tool)
    )
    assert "Postgres" in run.context
    return run.stdout + run.stderr + json.dumps(run.json, ensure_ascii=False)


def at_commands(project: Project) -> str:
    """Show, list, search and explain."""
    project.prompt(ASK)
    words = (["show", "use-postgres"], ["list"], ["search", "postgres"], ["why"], ["status"], ["doctor"])
    runs = [project.cli(*command) for command in words]
    assert "Postgres 15" in runs[0].stdout
    return "".join(run.stdout + run.stderr for run in runs)


def at_json(project: Project) -> str:
    """Show, list and search with JSON output."""
    words = (["show", "use-postgres"], ["list"], ["search", "postgres"])
    runs = [project.cli(*command, "--json") for command in words]
    return "".join(json.dumps(run.json, ensure_ascii=False) for run in runs)


def at_errors(project: Project) -> str:
    """Name a memory and a category that do not exist, and read a damaged file."""
    put(project, "odd", '{"title": "%s' % HOSTILE)
    runs = [
        project.cli("show", "no" + HOSTILE),
        project.cli("list", "--category", HOSTILE),
        project.cli("check"),
    ]
    assert all(run.stderr for run in runs[:2])
    return "".join(run.stdout + run.stderr for run in runs)


def at_report(project: Project) -> str:
    """Write the report."""
    project.prompt(ASK + HOSTILE)
    run = project.cli("report", "--out", os.path.join(project.root, "report.html"))
    assert run.returncode == 0, run.stderr
    with open(os.path.join(project.root, "report.html"), encoding="utf-8") as file:
        return run.stdout + file.read()


def at_status_line(project: Project) -> str:
    """Print the status line, for a model and a folder with hostile names."""
    status = {
        "session_id": "s",
        "model": {"display_name": HOSTILE},
        "workspace": {"project_dir": project.root},
    }
    run = project.cli("config", "statusline", stdin=json.dumps(status))
    return run.stdout + run.stderr


def at_ledgers(project: Project) -> str:
    """Record prompts with their text, and a reply."""
    no_threshold(project)
    with open(project.settings_path, encoding="utf-8") as file:
        settings = json.load(file)
    settings["memory"]["ledger"] = {"keep_text": ["prompts"]}
    with open(project.settings_path, "w", encoding="utf-8") as file:
        json.dump(settings, file)
    project.prompt(ASK + HOSTILE)
    project.hook("Stop", project.event("Stop", last_assistant_message="Postgres." + HOSTILE))
    assert project.ledger("recalls")
    return _files(project.state)


def at_judge(project: Project) -> str:
    """Ask a judge about a hostile prompt and hostile titles."""
    server = Server(answer(payload("anthropic", '{"relevant": [], "useful": []}')))
    try:
        unsure = {"inject_threshold": 1.0, "pointer_threshold": 1.0, "judge": {"min_confidence": 0.0}}
        project.write_settings(
            {"ANTHROPIC_API_KEY": KEY}, retrieval=unsure, judge={"base_url": server.url, "prices": {}}
        )
        project.prompt(ASK + HOSTILE)
        assert server.seen
        return json.dumps([request.body for request in server.seen], ensure_ascii=False)
    finally:
        server.close()


def at_langfuse(project: Project) -> str:
    """Send the scores of a session with hostile texts."""
    server = Langfuse("v4")
    environment = dict(os.environ)
    folder = Path(project.home) / "langfuse"
    try:
        os.environ.update(HOME=str(folder / "home"), CLAUDE_CONFIG_DIR=str(folder / "home" / ".claude"))
        os.environ.update(LANGFUSE_PUBLIC_KEY=KEYS[0], LANGFUSE_SECRET_KEY=KEYS[1])
        bench = Bench(folder, langfuse={"host": server.url})
        bench.script()
        prompt = {"type": "user", "message": {"role": "user", "content": "Use" + HOSTILE}}
        bench.grade(bench.transcript(IDS[0], [prompt, *work(IDS[0][-3:])]))
        push_scores(bench, 5)
        assert server.scores
        return json.dumps(server.seen, ensure_ascii=False, default=str)
    finally:
        server.close()
        os.environ.clear()
        os.environ.update(environment)


def at_interviews(project: Project) -> str:
    """Run an interview with a hostile topic, question, answer and concept until its memories are saved."""
    concept = {"text": "Within a minute" + HOSTILE, "type": "constraint", "stance": 1, "quote": "a minute"}
    turn = {
        "question": "How long may it take?" + HOSTILE,
        "answer": "a minute" + HOSTILE + "at most",
        "concepts": [concept],
    }
    words: list[tuple[list[str], str]] = [
        (["start", "billing export" + HOSTILE], ""),
        (["answer"], json.dumps(turn)),
        (["answer"], "Nothing else, thanks." + HOSTILE),
        *(([command], "") for command in ("status", "explain", "export", "finish")),
        (["export", "--json"], ""),
    ]
    runs = [project.cli("interview", *command, stdin=stdin) for command, stdin in words]
    assert "a minute" in runs[-1].stdout.lower()
    assert [run.returncode for run in runs] == [0] * len(runs), runs
    chosen = "memory: n1\ntitle: The export takes a minute" + HOSTILE
    runs.append(project.cli("interview", "finish", "--confirm", stdin=chosen))
    assert runs[-1].returncode == 0, runs[-1].stderr
    return "".join(run.stdout + run.stderr for run in runs) + _files(project.state) + _stored(project)


def at_capture_candidates(project: Project) -> str:
    """End a turn with a hostile correction, list the candidate and accept it."""
    path = os.path.join(project.config, "projects", "p", "one.jsonl")
    prompt = "no, we never mock the database" + HOSTILE + "here"
    write_transcript(path, user_record(prompt), assistant_record("Yes." + HOSTILE))
    event = project.event("Stop", last_assistant_message="Yes.", prompt_id="p1", stop_hook_active=False)
    run = project.hook("Stop", {**event, "transcript_path": path})
    project.wait_for_background()
    runs = [run, project.cli("review"), project.start()]
    state = _files(os.path.join(project.state, "capture"))
    (candidate,) = project.candidates()
    runs += [project.cli("review", "--json"), project.cli("accept", candidate["id"])]
    assert runs[-1].returncode == 0, runs[-1].stderr
    assert "never mock" in state
    return "".join(run.stdout + run.stderr for run in runs) + state + _stored(project)


OUTPUTS: dict[str, Callable[[Project], str]] = {
    "memory files": at_memory_file,
    "index": at_index,
    "prompt": at_prompt,
    "session start": at_session_start,
    "tool call": at_tool_call,
    "commands": at_commands,
    "commands with `--json`": at_json,
    "errors": at_errors,
    "report": at_report,
    "status line": at_status_line,
    "ledgers and other state": at_ledgers,
    "judge": at_judge,
    "Langfuse": at_langfuse,
    "interviews": at_interviews,
    "capture candidates": at_capture_candidates,
}


def _stored(project: Project) -> str:
    """Return the content of the project's store without the planted memory."""
    return _files(os.path.join(project.root, ".claude", "memory"), without="use-postgres.json")


def _files(folder: str, without: str = "") -> str:
    """Return names and content of all files below a folder."""
    texts = []
    for at, _, names in os.walk(folder):
        for name in names:
            if name != without:
                with open(os.path.join(at, name), encoding="utf-8", errors="replace") as file:
                    texts.append(name + "\n" + file.read())
    # SQLite's own data may hold the byte 0x1b, so only the whole escape counts.
    return "\n".join(texts).replace("\x1b[31m", "\\u001b").replace("\x1b", "")


@pytest.mark.parametrize("name", OUTPUTS)
def test_no_output_holds_the_key_or_the_escape(planted: Project, name: str) -> None:
    text = OUTPUTS[name](planted)
    assert text
    codes = () if name == "errors" else ("\\u001b", "\\u202e")  # an error may name an escape by its code
    for secret in (SECRET, SECRET[:20], "\x1b", "\u202e", *codes):
        assert secret not in text, text[max(0, text.index(secret) - 200) : text.index(secret) + 80]
