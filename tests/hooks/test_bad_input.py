"""Invalid input: exit code 0, at most one JSON object, the prompt is not blocked, and the events ledger names the problem."""

from __future__ import annotations

import json
import os
import time

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memory_plugin.kernel.paths import YOURS
from tests.events import PROMPT_HOOK, SCRIPTS, events_slow_except
from tests.project import IS_WINDOWS, PLUGIN_ROOT, Project, Run
from tests.recall.store_files import (
    ASK,
    BODY,
    TITLE,
    TOLD,
    last,
    problems,
)

NOT_AN_EVENT = [
    pytest.param(b"", id="nothing"),
    pytest.param(b" \n", id="space"),
    pytest.param(b"\0" * 100, id="NULs"),
    pytest.param(b"{", id="cut off"),
    pytest.param(b'{"prompt": "which databa', id="cut off in a text"),
    pytest.param(b"[1, 2]", id="a list"),
    pytest.param(b"null", id="null"),
    pytest.param(b'"prompt"', id="a text"),
    pytest.param(b"\xff\xfe{}", id="not UTF-8"),
    pytest.param(b'{"prompt": NaN}', id="not a number"),
    pytest.param(b'{"prompt": ' + b"9" * 100_000 + b"}", id="a number of 100,000 digits"),
    pytest.param(b"[" * 500_000, id="nested too deeply"),
    pytest.param(b'{"a":' * 500_000, id="objects nested too deeply"),
    pytest.param(b'{"prompt": "a"}{"prompt": "b"}', id="two objects"),
    pytest.param(b"x" * 10_000_000, id="10 MB of noise"),
    pytest.param(b'{"prompt": "' + b"x" * 33_600_000 + b'"}', id="more than we read"),
]


def is_harmless(run: Run) -> bool:
    """Return whether a hook printed nothing, or one JSON object of valid form and size, and did not block the prompt."""
    if run.returncode != 0 or run.stderr.count("\n") > 1 or "Traceback" in run.stderr:
        return False
    if not run.stdout:
        return True
    output = run.json["hookSpecificOutput"]
    return (
        set(run.json) <= {"hookSpecificOutput", "systemMessage"}
        and str(run.json.get("systemMessage", "")).isprintable()
        and output["hookEventName"] == "UserPromptSubmit"
        and len(output["additionalContext"].encode("utf-16-le")) < 2 * 9500
    )


@pytest.mark.parametrize("event", events_slow_except("UserPromptSubmit", "PostToolUseFailure"))
@pytest.mark.parametrize("data", NOT_AN_EVENT)
def test_an_invalid_event_is_logged_in_one_line(project: Project, event: str, data: bytes) -> None:
    run = project.hook(event, data)
    assert (run.returncode, run.stdout) == (0, "")
    assert run.stderr.count("\n") == 1
    assert [(row["event"], row["kind"]) for row in project.ledger("events")] == [(event, "bad_input")]


@pytest.mark.parametrize("prompt", [42, None, True, ["x"], {"text": ASK}, 1.5], ids=repr)
def test_a_prompt_that_is_not_a_string_is_logged(project: Project, prompt: object) -> None:
    run = project.hook("UserPromptSubmit", project.event("UserPromptSubmit", prompt=prompt))
    assert run == Run(0, "", "")
    assert [row["kind"] for row in project.ledger("events")] == ["bad_input"]


UNEXPECTED: dict[str, dict[str, object]] = {
    "wrong types": {"prompt": ASK, "session_id": {"a": []}, "prompt_id": 7},
    "a session that is a path": {"prompt": ASK, "session_id": "../../x", "prompt_id": "\0"},
    "a session id of 3 MB": {"prompt": ASK, "session_id": "s" * 3_000_000},
    "a prompt id of 3 MB": {"prompt": ASK, "prompt_id": "p" * 3_000_000},
    "a session id that is a lone surrogate": {"prompt": ASK, "session_id": "\ud800"},
    "a transcript of another type": {"prompt": "fix that", "transcript_path": []},
    "a transcript that never ends": {"prompt": "fix that", "transcript_path": "/dev/zero"},
    "a transcript of secrets": {"prompt": "fix that", "transcript_path": "/etc/shadow"},
    "a path with a NUL": {"prompt": "fix that", "transcript_path": "a\0b"},
    "a path of 100 KB": {"prompt": "fix that", "transcript_path": "/x" * 50_000},
    "a working folder that is gone": {"prompt": ASK, "cwd": "/nowhere"},
    "lone surrogates": {"prompt": "\ud800 which database \udfff"},
    "NULs in the prompt": {"prompt": ASK + "\0" * 1000},
    "the search's own syntax": {"prompt": '" OR 1 NEAR(*) : ^ - AND NOT ( billing'},
    "SQL": {"prompt": "'; DROP TABLE documents; -- billing database"},
    "nothing visible": {"prompt": "\u202e\U000e0041\u200b" * 10_000},
    "private 20,000 times": {"prompt": "<private>" * 20_000},
}


def test_an_event_with_unexpected_values_does_not_block_the_prompt(recalling: Project) -> None:
    for name, fields in UNEXPECTED.items():
        before = len(recalling.ledger("recalls"))
        run = recalling.hook("UserPromptSubmit", recalling.event("UserPromptSubmit", **fields))
        assert is_harmless(run), name
        assert run.stderr == "", name
        assert len(recalling.ledger("recalls")) == before + 1, name
    assert max(len(json.dumps(row)) for row in recalling.ledger("recalls")) < 4000
    found = {name for _, _, names in os.walk(recalling.home) for name in names}
    assert "x" not in found


SLOW = pytest.mark.slow


@pytest.mark.parametrize(
    "prompt",
    [
        pytest.param("billing database " * 600_000, id="words"),
        pytest.param(("x" * 1_000_000 + " ") * 10, id="words of 1 MB", marks=SLOW),
        pytest.param("<" * 10_000_000 + "private", id="half tags", marks=SLOW),
        pytest.param("<private>x</private> " * 480_000, id="private passages"),
        pytest.param("> quoted\n" * 1_100_000, id="quoted lines", marks=SLOW),
        pytest.param("\U0001f600" * 2_500_000, id="emoji", marks=SLOW),
        pytest.param("漢字" * 1_600_000, id="CJK", marks=SLOW),
        pytest.param("e\u0301\u0302\u0303" * 1_400_000, id="marks", marks=SLOW),
    ],
)
def test_a_10_mb_prompt_is_answered_in_time(recalling: Project, prompt: str) -> None:
    begun = time.monotonic()
    run = recalling.prompt(prompt)
    assert is_harmless(run)
    assert time.monotonic() - begun < 15
    assert problems(recalling) == []


def test_an_event_with_only_a_prompt_is_answered_every_time(recalling: Project) -> None:
    """Without a session id, the hook cannot know what was injected before."""
    for _ in range(2):
        assert TOLD in recalling.hook("UserPromptSubmit", json.dumps({"prompt": ASK}).encode()).context


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    data=st.binary(max_size=300)
    | st.text(max_size=200).map(lambda text: json.dumps({"prompt": text}).encode())
)
def test_arbitrary_bytes_do_not_block_the_prompt(project: Project, data: bytes) -> None:
    assert is_harmless(project.hook("UserPromptSubmit", data))


@pytest.mark.parametrize("event", events_slow_except("UserPromptSubmit", "Stop"))
@pytest.mark.parametrize(
    "home",
    [
        pytest.param({"HOME": None, "CLAUDE_CONFIG_DIR": None}, id="none"),
        pytest.param({"HOME": "", "CLAUDE_CONFIG_DIR": ""}, id="empty"),
        pytest.param({"HOME": "home", "CLAUDE_CONFIG_DIR": None}, id="relative"),
        pytest.param({"HOME": ".", "CLAUDE_CONFIG_DIR": "../home/.claude"}, id="both relative"),
    ],
)
def test_without_a_valid_home_folder_nothing_is_written_and_only_a_start_says_so(
    recalling: Project, event: str, home: dict[str, str | None]
) -> None:
    before = {at: names for at, _, names in os.walk(os.path.dirname(recalling.root))}
    run = recalling.hook(event, recalling.event(event, prompt=ASK, source="startup"), **home)
    assert (run.returncode, run.stderr) == (0, "")
    why = "no home folder: neither CLAUDE_CONFIG_DIR nor HOME is set to an absolute path" + YOURS
    line = {"systemMessage": "memory: Claude is shown nothing: " + why}
    assert run.stdout == ("" if event != "SessionStart" else json.dumps(line, separators=(",", ":")))
    assert {at: names for at, _, names in os.walk(os.path.dirname(recalling.root))} == before


def test_a_missing_home_folder_is_created(project: Project) -> None:
    project.save(TITLE, BODY)
    home = os.path.join(os.path.dirname(project.root), "other", "home")
    assert is_harmless(
        run := project.hook(
            "UserPromptSubmit",
            project.event("UserPromptSubmit", prompt=ASK),
            HOME=home,
            CLAUDE_CONFIG_DIR=None,
        )
    )
    assert run.stdout == ""  # nobody accepted this store there
    state = os.stat(os.path.join(home, ".claude", "lcars", "memory"))
    assert IS_WINDOWS or state.st_mode & 0o777 == 0o700


@pytest.mark.parametrize("event", events_slow_except("UserPromptSubmit", "Stop"))
@pytest.mark.parametrize("closed", [0, 1, 2], ids=["stdin", "stdout", "stderr"])
@pytest.mark.parametrize("data", [None, b"{"], ids=["an event", "no event"])
def test_a_closed_stream_causes_no_error(
    recalling: Project, event: str, closed: int, data: bytes | None
) -> None:
    """A file that we open may get the descriptor of a closed stream; our output must not end up in it."""
    command = 'exec "$0" -I -S "$1" %d%s&-' % (closed, "<" if closed == 0 else ">")
    sent = data or json.dumps(recalling.event(event, prompt=ASK, source="startup")).encode()
    script = os.path.join(PLUGIN_ROOT, "hooks", SCRIPTS[event])
    run = recalling.process(
        ["/bin/sh", "-c", command, recalling.python, script], sent, CLAUDE_PROJECT_DIR=recalling.root
    )
    assert run.returncode == 0
    assert "Traceback" not in run.stderr
    assert TOLD in recalling.prompt(ASK, session_id="after").context
    assert recalling.ledger("recalls")


@pytest.mark.parametrize(
    "redirection",
    [
        ">/dev/full",
        "2>/dev/full",
        ">/dev/full 2>&1",
        "| true",
        "2>&1 | true",
        "</dev/full",
        ">&- 2>&- <&-",
    ],
)
@pytest.mark.parametrize("data", [b"", b"{"], ids=["an event", "no event"])
def test_a_failing_stream_causes_no_error(recalling: Project, redirection: str, data: bytes) -> None:
    if not os.path.exists("/dev/full"):
        pytest.skip("no /dev/full here")
    sent = data or json.dumps(recalling.event("UserPromptSubmit", prompt=ASK)).encode()
    command = '{ "$0" -I -S "$1"; echo $? >"$2"; } ' + redirection
    code = os.path.join(os.path.dirname(recalling.root), "code")
    recalling.process(
        ["/bin/sh", "-c", command, recalling.python, PROMPT_HOOK, code],
        sent,
        CLAUDE_PROJECT_DIR=recalling.root,
    )
    with open(code, encoding="ascii") as file:
        assert file.read() == "0\n"


def test_a_deleted_working_folder_causes_no_error(recalling: Project) -> None:
    command = 'mkdir gone && cd gone && rmdir ../gone && exec "$0" -I -S "$1"'
    sent = json.dumps({"prompt": ASK, "cwd": recalling.root}).encode()
    run = recalling.process(
        ["/bin/sh", "-c", command, recalling.python, PROMPT_HOOK], sent, CLAUDE_PROJECT_DIR=recalling.root
    )
    assert TOLD in run.context
    run = recalling.process(["/bin/sh", "-c", command, recalling.python, PROMPT_HOOK], sent)
    assert run.returncode == 0


def test_logged_problems_contain_no_text_from_the_user(recalling: Project) -> None:
    recalling.hook("UserPromptSubmit", b'{"prompt": "my secret plan')
    recalling.hook(
        "UserPromptSubmit",
        recalling.event("UserPromptSubmit", prompt=["my secret plan"], session_id={"my": "secret"}),
    )
    assert "secret" not in json.dumps(recalling.ledger("events"))
    assert last(recalling)["session"] == "before"
