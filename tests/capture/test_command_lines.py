"""Shell lines: which command runs again, and how one changes the environment."""

from __future__ import annotations

from memory_plugin.capture.command_lines import change_kind, command_line, runs_same


def test_commands_are_classified_by_their_first_words() -> None:
    assert runs_same(command_line("cd app && npm run dev 2>&1 | tail -5"), command_line("PORT=1 npm run dev"))
    assert not runs_same(command_line("npm run dev"), command_line("npm run build"))
    assert command_line("sudo pytest -q tests").is_check
    assert not command_line("docker compose up -d").is_check
    assert [
        change_kind(text) for text in ("pip install x", "docker compose up -d db", "git config a b", "ls")
    ] == [
        "install",
        "service",
        "setup",
        "",
    ]


def test_only_the_same_command_or_the_same_test_counts() -> None:
    cases = [
        ("pytest tests/a.py::test_x -q", "pytest tests/a.py::test_x", True),
        ("pytest tests/a.py", "pytest", False),
        ("go test ./store", "go test ./...", False),
        ("cd web && npm test", "npm test --silent", True),
        ("pip install lxml", "pip install --prefer-binary lxml", True),
        ("python app.py --port 1", "python3 app.py --port 1", True),
        ("npm run dev", "npm install && npm run dev", True),
        ("pytest tests/a.py", "pytest tests/b.py", False),
        ("pytest tests", "pytest tests/a.py", False),
        ("pytest tests/a.py", "pytest -k other tests/a.py", False),
        ("python app.py", "python --version", False),
        ("acme --check", "acme dump a", False),
        ("acme --version", "acme dump a", True),
        ("npm install lxml", "npm install left-pad", False),
        ("make deploy", "make build", False),
        ("make lint && make deploy", "make deploy", False),
    ]
    assert [
        (failed, passed, same)
        for failed, passed, same in cases
        if runs_same(command_line(failed), command_line(passed)) is not same
    ] == []
