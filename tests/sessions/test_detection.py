"""Patterns and shell commands of detectors: test runs, commands that a tool could replace, and pipelines whose failure is hidden."""

from __future__ import annotations

import time
from typing import Any

import pytest

from memory_plugin.kernel.paths import load_data
from memory_plugin.sessions.detection import pattern, pipeline_heads, runs_tests, tool_for

COMMANDS = load_data("sessions", "commands")
PATTERNS = load_data("sessions", "patterns")["patterns"]


@pytest.mark.parametrize("entry", COMMANDS["stands_for"], ids=lambda entry: str(entry["id"]))
def test_a_command_that_a_tool_could_replace(entry: dict[str, Any]) -> None:
    def matches(command: str) -> bool:
        return entry["id"] in [tool_for(head)[0] for head in pipeline_heads(command)]

    assert [command for command in entry["hit"] if not matches(command)] == []
    assert [command for command in entry["miss"] if matches(command)] == []


@pytest.mark.parametrize(
    ("command", "runs"),
    [
        ("pytest -q", True),
        ("cd app && python -m pytest tests", True),
        ("A=1 timeout 60 uv run pytest", True),
        ("npm run test:unit", True),
        ("npm --silent test", True),
        ("/usr/bin/make -j4 check", True),
        ("./gradlew test", True),
        ("python3.12 -m pytest", True),
        ("(cd app && pytest)", True),
        ("# don't hurry\npytest", True),
        ("timeout 60 \\\n  pytest", True),
        ("uv run --with hypothesis pytest -q", True),
        ("sudo -u app timeout -k 5 60 pytest", True),
        ("bash -lc 'cd app && npm test'", True),
        ("docker compose exec -T web pytest -q", True),
        ("sudo docker run --rm image npm test", True),
        ("ssh box 'cd app && pytest -q'", True),
        ("npm --prefix web test", True),
        ("mvn -pl core clean test", True),
        ("gradle :app:test", True),
        ("gradle build -x test", False),
        ("forge test -vv", True),
        ("./run_tests.sh fast", True),
        ("terraform test", True),
        ("docker build -t test .", False),
        ("npx playwright install", False),
        ("go test -race ./...", True),
        ("bash -lc 'make test | tail -n 5'", True),
        ("bash -lc 'cd app && pytest --collect-only -q'", False),
        ("docker run --rm img ctest -N", False),
        ("go test -c ./pay", False),
        ("tmux new-session -d 'npm test'", False),
        ("cat tests/test_x.py", False),
        ("echo pytest", False),
        ("grep -r pytest .", False),
        ("git commit -m 'pytest passes'", False),
        ("cat <<'EOF' > x.sh\npytest\nEOF", False),
        ("npm install", False),
        ("# pytest", False),
        ("echo 'then; pytest'", False),
    ],
)
def test_commands_that_run_tests(command: str, *, runs: bool) -> None:
    assert any(runs_tests(head) for head in pipeline_heads(command)) is runs


def test_the_first_words_of_pipelines() -> None:
    cases = [
        ("a b | c d && e", [("a", "b"), ("e",)]),
        ("x 'y; z' 2>&1 & w", [("x", "y; z"), ("w",)]),
        ("(cd x; ls)", [("ls",)]),
        ("a \\\n  b # c; d\ne#f", [("a", "b"), ("e#f",)]),
        ("# it's\na", [("a",)]),
        ('a "x \\"; y" \'\' z', [("a", 'x "; y', "", "z")]),
        ("a &> b |& c; d", [("a",), ("d",)]),
        ("", []),
        ("'unclosed", [("unclosed",)]),
        ("a x\\|y b", [("a", "x|y", "b")]),
        ('a "$(b c)" `d`', [("a", "$()", "$()")]),
        ("for x in y; do a $x; done", [("for", "x", "in", "y"), ("a", "$x")]),
    ]
    assert [
        (command, words)
        for command, words in cases
        if [tuple(head.words) for head in pipeline_heads(command)] != words
    ] == []


@pytest.mark.parametrize(
    ("command", "hidden"),
    [
        ("pytest", False),
        ("pytest && git push", False),
        ("pytest -k 'a | b; c'", False),
        ("cd x; pytest\n", False),
        ("pytest || exit 1", False),
        ("set -o pipefail; pytest | tail", False),
        ("pytest | tail -3", True),
        ("pytest |& tee log", True),
        ("make && pytest && ls | wc", False),
        ("pytest || true", True),
        ("pytest; git status", True),
        ("pytest && ls; git status", True),
        ("pytest &", True),
        ("(cd x && pytest) | tail", True),
        ("if pytest; then echo ok; fi", True),
        ("bash -c 'pytest | tail -3'", True),
        ("ssh box 'cd app && pytest -q'", False),
    ],
)
def test_whether_a_failure_shows_in_the_exit_code(command: str, *, hidden: bool) -> None:
    assert [head.hidden for head in pipeline_heads(command) if runs_tests(head)] == [hidden]


def test_patterns_hit_and_miss_their_examples() -> None:
    wrong = [
        (entry["id"], kind, text)
        for entry in PATTERNS
        for kind in ("hit", "miss")
        for text in entry[kind]
        if bool(pattern(entry["id"]).search(text)) != (kind == "hit")
    ]
    assert wrong == []


@pytest.mark.slow
@pytest.mark.parametrize("piece", ["a", "1 ", "[", "[x](", ".a", "it's ", "| ", "<b>\n", "the user ", "-- "])
def test_patterns_take_linear_time(piece: str) -> None:
    slow = []
    for entry in PATTERNS:
        started = time.process_time()
        pattern(entry["id"]).search(piece * (50_000 // len(piece)))
        if time.process_time() - started >= 10:
            slow.append(entry["id"])
    assert slow == []
