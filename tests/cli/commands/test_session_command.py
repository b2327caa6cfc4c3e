"""`memory session`, `calibrate` and `langfuse` as a person and a program use them."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from tests.kernel.transcript.rows import answer, call, lines, result, text_block, user
from tests.project import SESSION, Project
from tests.sessions.bench import IDS, work
from tests.sessions.grades import reply
from tests.sessions.langfuse.server import KEYS, Langfuse

SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


def folder_of(project: Project) -> str:
    """Where the client keeps the transcripts of a project."""
    name = "".join(c if c.isascii() and c.isalnum() else "-" for c in os.path.realpath(project.root))
    path = os.path.join(project.config, "projects", name)
    os.makedirs(path, exist_ok=True)
    return path


def transcript(project: Project, identity: str, rows: list[dict[str, Any]] | None = None) -> str:
    path = os.path.join(folder_of(project), identity + ".jsonl")
    with open(path, "wb") as file:
        file.write(
            lines(
                *({**row, "sessionId": identity, "cwd": project.root} for row in rows or work(identity[-3:]))
            )
        )
    return path


def script_session_judge(project: Project, **sessions: object) -> None:
    """Switch on a scripted judge for sessions."""
    project.script_judge({"text": json.dumps(reply())})
    project.write_settings(judge={"backend": "scripted"}, sessions={"judge": {"when": "asked"}, **sessions})


def test_signals_as_text_and_json(project: Project) -> None:
    path = transcript(
        project,
        IDS[1],
        [
            user("Fix it"),
            answer("m1", call("c1", command="make %s" % SECRET)),
            result("c1", "Exit code 2", failed=True),
        ],
    )
    run = project.cli("session", "signals", path)
    assert run.returncode == 0, run.stderr
    assert "tool errors" in run.stdout
    assert "T1" in run.stdout
    assert "Bash: make" in run.stdout
    assert "unscored: goal_achievement, tool_efficiency" in run.stdout
    assert "1 turn, 1 call, claude-x" in run.stdout
    assert SECRET not in run.stdout
    transcript(project, IDS[2])
    assert project.cli("session", "signals", IDS[1][:12], "--json").returncode == 1
    found = project.cli("session", "signals", IDS[1], "--json").json
    assert (found["signals"]["errors"], found["scores"]) == ({"count": 1, "turns": [1]}, None)


def test_the_current_session(project: Project) -> None:
    transcript(project, SESSION)
    newest = transcript(project, IDS[2])
    os.utime(newest, (4e9, 4e9))
    inside = project.cli("session", "signals", "--current", "--json", inside=True)
    assert inside.json["session"] == SESSION
    assert project.cli("session", "signals", "--current", "--json").json["session"] == IDS[2]


@pytest.mark.parametrize("arguments", [(), ("x", "--current"), ("--project", "--current")])
def test_exactly_one_target_is_required(project: Project, arguments: tuple[str, ...]) -> None:
    run = project.cli("session", "score", *arguments)
    assert (run.returncode, run.stdout) == (2, "")


def test_unreadable_rows_are_counted_not_passed_over_in_silence(project: Project) -> None:
    path = transcript(project, IDS[1])
    assert "left out" not in project.cli("session", "signals", path).stdout
    with open(path, "a", encoding="utf-8") as file:
        file.write("{torn\n{torn again\n")
    assert "left out: 2 unreadable rows" in project.cli("session", "signals", path).stdout
    assert project.cli("session", "signals", path, "--json").json["unreadable_records"] == 2


@pytest.mark.parametrize(
    ("name", "code"),
    [("nothing-there", 1), ("../../etc/passwd", 2), ("/no/such.jsonl", 2), ("a b", 2)],
)
def test_a_missing_file_is_reported_in_one_line(project: Project, name: str, code: int) -> None:
    run = project.cli("session", "signals", name)
    assert (run.returncode, run.stdout, len(run.stderr.splitlines())) == (code, "", 1)


def test_a_file_that_is_no_transcript_is_told(project: Project) -> None:
    path = os.path.join(project.root, "talk.jsonl")
    with open(path, "w", encoding="utf-8") as file:
        file.write('{"role": "user", "content": "hi"}\n')
    assert "no turn of Claude Code or Codex was found" in project.cli("session", "signals", path).stdout


def test_score_and_list(project: Project) -> None:
    script_session_judge(project)
    run = project.cli("session", "score", transcript(project, IDS[1]))
    assert run.returncode == 0, run.stderr
    assert "overall_quality      0.62" in run.stdout
    assert "2 complete" in run.stdout
    assert [row["session"] for row in project.cli("session", "list", "--json").json["sessions"]] == [IDS[1]]
    assert IDS[1] in project.cli("session", "list").stdout
    elsewhere = os.path.join(project.home, "elsewhere")
    os.makedirs(elsewhere)
    other = project.memory("session", "list", "--root", elsewhere)
    assert other.stdout == "No past session of this project is known yet.\n"


def test_without_a_judge_signals_are_shown_and_how_to_grade(project: Project) -> None:
    run = project.cli("session", "score", transcript(project, IDS[1]))
    assert run.returncode == 1
    assert "claims of completion" in run.stdout
    assert "/memory:grade-session" in run.stderr
    assert "memory judge on sessions" in run.stderr
    assert project.ledger("sessions") == []


def test_grading_a_project_skips_graded_sessions(project: Project) -> None:
    script_session_judge(project)
    for identity in IDS[:3]:
        transcript(project, identity)
    run = project.cli("session", "score", "--project")
    assert (run.returncode, run.stdout) == (0, "3 graded, 0 already graded, 0 not graded\n")
    assert project.cli("session", "score", "--project").stdout == "0 graded, 3 already graded, 0 not graded\n"


def test_prepare_and_store(project: Project) -> None:
    path = transcript(project, IDS[1])
    page = project.cli("session", "prepare", path).stdout
    assert "Page 1 of 1" in page
    assert project.cli("session", "prepare", path, "--page", "2").returncode == 2
    run = project.cli("session", "store", path, stdin="Here it is:\n```json\n%s\n```" % json.dumps(reply()))
    assert run.returncode == 0, run.stderr
    assert project.ledger("sessions")[0]["scorer"]["by"] == "agent"
    for text in ("", "no json", "{}", '{"tool_efficiency": {"score": "much"}}'):
        assert project.cli("session", "store", path, stdin=text).returncode == 1


def test_a_grade_that_cannot_be_stored_is_shown(project: Project) -> None:
    path = transcript(project, IDS[1])
    os.makedirs(os.path.join(project.state, "sessions.jsonl"))  # fails like a full disk
    run = project.cli("session", "store", path, stdin=json.dumps(reply()))
    assert run.returncode == 1
    assert "overall_quality      0." in run.stdout
    assert "memory: the grade was not stored: sessions: " in run.stderr
    assert (
        project.cli("session", "store", path, "--json", stdin=json.dumps(reply())).json["row"]["missing"]
        == []
    )


def test_the_answer_comes_from_the_transcript_of_the_sub_agent(project: Project) -> None:
    transcript(project, SESSION)
    target = transcript(project, IDS[1])
    folder = os.path.join(folder_of(project), SESSION, "subagents")
    os.makedirs(folder)

    def write_agent(
        name: str, request: str, reply_text: str, command: str = "memory session prepare --current"
    ) -> None:
        rows = [
            user(request),
            answer(name, call(name, command=command)),
            result(name),
            answer(name + "2", {"type": "text", "text": reply_text}),
        ]
        with open(os.path.join(folder, "agent-%s.jsonl" % name), "wb") as file:
            file.write(lines(*({**row, "isSidechain": True, "agentId": name} for row in rows)))

    store = ("session", "store", "--current", "--agent")
    assert project.cli(*store, inside=True).returncode == 1
    write_agent("a", "Grade the session --current.", "I cannot.")
    write_agent("b", "Something else", json.dumps(reply()))
    write_agent("c", "Grade the session --current.", json.dumps(reply()), command="ls")
    assert project.cli(*store, inside=True).returncode == 1
    write_agent("d", "Grade the session --current.", json.dumps(reply(goal_achievement=3)))
    run = project.cli(*store, inside=True)
    assert run.returncode == 0, run.stderr
    assert project.ledger("sessions")[0]["dimensions"]["goal_achievement"]["label"] == "exceeded"
    assert project.cli("session", "store", target, "--agent", inside=True).returncode == 1


def test_label_and_calibrate(project: Project) -> None:
    script_session_judge(project)
    for identity in IDS[:3]:
        path = transcript(project, identity)
        assert project.cli("session", "score", path).returncode == 0
        run = project.cli("session", "calibrate", path, stdin="complete\n0.7\n")
        assert run.returncode == 0, run.stderr
    found = project.cli("session", "calibrate", "--json").json
    by_name = {row["dimension"]: row for row in found["dimensions"]}
    assert (
        found["sessions"],
        by_name["goal_achievement"]["exact"]["value"],
        by_name["tool_efficiency"]["mae"]["value"],
    ) == (3, 1.0, pytest.approx(0.1))
    assert "too few to draw conclusions" in project.cli("session", "calibrate").stdout
    assert len(project.ledger("sessions")) == 6


def test_labels_entered_one_at_a_time_add_up(project: Project) -> None:
    script_session_judge(project)
    path = transcript(project, IDS[0])
    for given in ("complete\n", "\n0.8\n", "\n0.7\n"):
        assert project.cli("session", "calibrate", path, stdin=given).returncode == 0
    assert project.cli("session", "score", path).returncode == 0
    figures = project.cli("session", "calibrate", "--json").json["dimensions"]
    assert [row["dimension"] for row in figures if row["n"]] == ["goal_achievement", "tool_efficiency"]


def test_label_asks_for_each_score_until_it_is_valid(project: Project) -> None:
    run = project.cli(
        "session", "calibrate", transcript(project, IDS[0]), stdin="excellent\ncomplete\n0.8\n\n7\n0.5\n"
    )
    assert run.returncode == 0, run.stderr
    assert "claims of completion" in run.stdout
    assert "expected 0 failed, 1 partial, 2 complete, 3 exceeded" in run.stdout
    assert not any(word in run.stdout for word in ("overall", "unscored")), "the scorer's scores stay hidden"
    (row,) = project.ledger("sessions")
    assert {name: entry["score"] for name, entry in row["dimensions"].items()} == {
        "goal_achievement": 2, "tool_efficiency": 0.8, "context_efficiency": 0.5,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("typed", "inside"), [("\n\n\n\n\n\n", False), ("complete\n", True)], ids=["no score", "Claude"]
)
def test_scores_are_a_persons(project: Project, typed: str, *, inside: bool) -> None:
    run = project.cli("session", "calibrate", transcript(project, IDS[0]), stdin=typed, inside=inside)
    assert run.returncode == 1
    assert project.ledger("sessions") == []


def test_a_renamed_transcript_is_the_same_session_for_scores_and_labels(project: Project) -> None:
    script_session_judge(project)
    path = transcript(project, IDS[0])
    copy = os.path.join(project.root, "kept.jsonl")
    os.rename(path, copy)
    assert project.cli("session", "score", copy).returncode == 0
    assert project.cli("session", "calibrate", copy, stdin="3\n").returncode == 0
    assert project.cli("session", "calibrate", "--json").json["sessions"] == 1


def test_an_unreachable_langfuse_names_its_own_settings(project: Project) -> None:
    env: dict[str, Any] = {"LANGFUSE_PUBLIC_KEY": KEYS[0], "LANGFUSE_SECRET_KEY": KEYS[1]}
    run = project.cli("session", "langfuse", "push", **env, LANGFUSE_HOST="http://127.0.0.1:9")
    assert (run.returncode, len(run.stderr.splitlines())) == (1, 1)
    assert "LANGFUSE_HOST" in run.stderr
    assert "judge" not in run.stderr


def test_calibrate_without_pairs_is_an_error(project: Project) -> None:
    run = project.cli("session", "calibrate")
    assert (run.returncode, len(run.stderr.splitlines())) == (1, 1)


@pytest.fixture
def langfuse() -> Iterator[Langfuse]:
    with closing(Langfuse()) as server:
        yield server


def test_langfuse_push_and_pull(project: Project, langfuse: Langfuse) -> None:
    script_session_judge(project, langfuse={"host": langfuse.url})
    env: dict[str, Any] = {"LANGFUSE_PUBLIC_KEY": KEYS[0], "LANGFUSE_SECRET_KEY": KEYS[1]}
    project.cli("session", "score", transcript(project, IDS[0]))
    run = project.cli("session", "langfuse", "push", **env)
    assert (run.returncode, run.stdout) == (0, "7 arrived, 0 pending, 0 refused\n")
    assert (len(langfuse.configs), len(langfuse.scores)) == (7, 7)
    assert project.cli("session", "langfuse", "push", **env).stdout == "nothing to send\n"
    assert project.cli("session", "langfuse", "pull", "no-such", **env).returncode == 1
    inside = project.cli("session", "langfuse", "push", inside=True, **env)
    assert (inside.returncode, inside.stdout) == (1, "")


def doctor(project: Project, **env: str) -> dict[str, Any]:
    """Return the doctor's check of Langfuse."""
    checks = project.cli("doctor", "--json", stdin="", inside=False, **env).json["checks"]
    (check,) = (check for check in checks if check["name"] == "langfuse")
    return dict(check)


@pytest.mark.parametrize("action", [["push"], ["pull", "x", "--json"]], ids=" ".join)
def test_langfuse_without_keys_says_which_are_missing(project: Project, action: list[str]) -> None:
    run = project.cli("session", "langfuse", *action)
    assert (run.returncode, run.stdout) == (1, "")
    assert "LANGFUSE_PUBLIC_KEY is not set" in run.stderr


def test_the_doctor_reports_langfuse_without_asking_the_server(project: Project, langfuse: Langfuse) -> None:
    found = doctor(project)
    assert (found["status"], found["text"]) == ("ok", "not set up; session scores stay on this machine")
    script_session_judge(project, langfuse={"host": langfuse.url})
    found = doctor(project)
    assert (found["status"], found["fix"]) == ("warn", "")
    assert "LANGFUSE_PUBLIC_KEY is not set" in found["text"]
    env: dict[str, Any] = {"LANGFUSE_PUBLIC_KEY": KEYS[0], "LANGFUSE_SECRET_KEY": KEYS[1]}
    project.cli("session", "score", transcript(project, IDS[0]))
    found = doctor(project, **env)
    assert (found["status"], found["fix"]) == ("note", "memory session langfuse push")
    assert "is set up; 7 scores to send" in found["text"]
    assert langfuse.seen == []
    project.cli("session", "langfuse", "push", **env)
    found = doctor(project, **env)
    assert (found["status"], found["text"].partition("; ")[2]) == ("ok", "0 scores to send")
    assert not {key for key in KEYS if key in found["text"]}


def test_langfuse_without_keys_or_with_a_tainted_project(project: Project, langfuse: Langfuse) -> None:
    script_session_judge(project, langfuse={"host": langfuse.url})
    run = project.cli("session", "langfuse", "push")
    assert (run.returncode, len(run.stderr.splitlines())) == (1, 1)
    project.write(
        ".claude/settings.json",
        {"env": {"LANGFUSE_HOST": "https://theirs.example"}},
    )
    run = project.cli("session", "langfuse", "push", LANGFUSE_PUBLIC_KEY=KEYS[0], LANGFUSE_SECRET_KEY=KEYS[1])
    assert run.returncode == 1
    assert "LANGFUSE" in run.stderr
    assert langfuse.seen == []


def test_scores_are_sent_at_once_with_the_automatic_setting(project: Project, langfuse: Langfuse) -> None:
    script_session_judge(project, langfuse={"host": langfuse.url, "automatic": True})
    env: dict[str, Any] = {"LANGFUSE_PUBLIC_KEY": KEYS[0], "LANGFUSE_SECRET_KEY": KEYS[1]}
    assert project.cli("session", "score", transcript(project, IDS[0]), **env).returncode == 0
    assert len(langfuse.scores) == 7
    run = project.cli(
        "session",
        "score",
        transcript(project, IDS[1]),
        LANGFUSE_PUBLIC_KEY=KEYS[0],
        LANGFUSE_SECRET_KEY="wrong",
    )
    assert run.returncode == 0
    assert "http_401" in run.stderr


LONG = [user("Go"), *(answer("m%d" % n, text_block("Step %d: %s" % (n, "word " * 120))) for n in range(1500))]


KEYED: dict[str, Any] = {"ANTHROPIC_API_KEY": "sk-made-up-0123456789abcdef"}


def priced(project: Project, **caps: float) -> str:
    """Switch on a judge at an address where nobody listens, and return a session of about 300,000 tokens, which costs a dollar."""
    judge = {"backend": "anthropic", "base_url": "http://127.0.0.1:9", "caps": caps}
    project.write_settings(judge=judge, sessions={"judge": {"when": "asked"}})
    return transcript(project, IDS[1], LONG)


@pytest.mark.slow
def test_a_long_session_is_graded_after_the_price_is_accepted(project: Project) -> None:
    path = priced(project)
    refused = project.cli("session", "score", path, **KEYED)
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "Grading this session of about " in refused.stderr
    assert "--yes" in refused.stderr
    assert project.ledger("judge-calls") == []
    accepted = project.cli("session", "score", path, "--yes", "--json", **KEYED)
    assert "network" in accepted.json["failures"]  # it was sent; after some failures a server is not asked
    assert "over_budget" not in accepted.json["failures"]
    assert "$0.0000 spent today" in project.cli("doctor", **KEYED).stdout


@pytest.mark.slow
def test_the_request_cap_is_enforced(project: Project) -> None:
    run = project.cli("session", "score", priced(project, request_usd=0.3), "--yes", **KEYED)
    assert (run.returncode, "judge.caps.request_usd is $0.30" in run.stderr) == (1, True)
    assert project.ledger("judge-calls") == []
