"""Parsing a guard, and errors that name the key, the expected value, the one found, and the fix."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_plugin.memories.guard import (
    ASK,
    MAX_PATTERN_LENGTH,
    MAX_PATTERNS,
    REMIND,
    Guard,
    InvalidGuard,
    guard_in_words,
    guard_json,
    parse_guard,
)
from memory_plugin.memories.memory_text import text_digests
from memory_plugin.memories.record import (
    categories,
    guard_problem,
    new_memory,
    parse_memory,
)

if TYPE_CHECKING:
    from memory_plugin.memories.record import Memory

RULE = categories()["constraint"]
FORCE: dict[str, Any] = {
    "files": ["db/migrations/*.sql"],
    "commands": ["git push --force"],
    "action": "remind",
}


def memory_with(guard: object) -> Memory:
    data = new_memory(RULE, "no-force", "Never force-push", {"rule": "Never."}, {"guard": guard})
    return parse_memory(data, "no-force", RULE)


def test_a_guard_is_read_from_a_memory_and_written_back() -> None:
    guard = memory_with(FORCE).guard
    assert guard == Guard(("db/migrations/*.sql",), ("git push --force",), REMIND)
    assert guard_json(guard) == FORCE
    assert parse_guard(guard_json(guard)) == guard


def test_a_memory_without_a_guard_has_none() -> None:
    assert (memory_with(None).guard, guard_problem(memory_with(None))) == (None, "")


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        pytest.param(["git push"], "guard: expected an object such as .*, got list; fix or remove it", id="a list"),
        pytest.param({}, "guard: expected files or commands, got neither; add one", id="an empty object"),
        pytest.param({"commands": "git push"}, r"guard\.commands: expected a list .*got str", id="a text"),
        pytest.param({"commands": [""]}, r"guard\.commands\[0\]: expected one line .*, got ''; fix", id="empty"),
        pytest.param({"files": ["a", 3]}, r"guard\.files\[1\]: expected one line .*, got 3; fix", id="a number"),
        pytest.param({"files": ["a\nb"]}, r"guard\.files\[0\]: expected one line", id="two lines"),
        pytest.param({"files": ["a\u202eb"]}, r"guard\.files\[0\]: expected one line of 1 to 200 visible", id="hidden"),
        pytest.param(
            {"files": ["a" * (MAX_PATTERN_LENGTH + 1)]}, r"expected one line of 1 to 200 visible", id="long"
        ),
        pytest.param(
            {"commands": ["a"] * (MAX_PATTERNS + 1)}, r"at most 32 texts, got 33 entries", id="many"
        ),
        pytest.param({**FORCE, "action": "deny"}, r"guard\.action: expected one of remind, ask, got 'deny'", id="action"),
        pytest.param({**FORCE, "regex": ["."]}, r"guard\.regex: expected one of files, .*; remove it", id="key"),
    ],
)  # fmt: skip
def test_an_invalid_guard_names_key_expected_got_and_the_fix(value: object, problem: str) -> None:
    with pytest.raises(InvalidGuard, match=problem):
        parse_guard(value)
    memory = memory_with(value)
    assert memory.guard is None
    assert guard_problem(memory).startswith("guard")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: (
        st.lists(inner) | st.dictionaries(st.sampled_from(["files", "commands", "action", "x"]), inner)
    ),
)


@given(JSON)
def test_any_value_is_a_guard_none_or_refused(value: object) -> None:
    try:
        guard = parse_guard(value)
    except InvalidGuard:
        return
    if guard is not None:
        assert parse_guard(guard_json(guard)) == guard


def test_a_guard_counts_as_content() -> None:
    """Adding, changing, damaging or removing a guard changes the memory's text."""
    variants = [None, FORCE, {**FORCE, "action": "ask"}, {**FORCE, "files": []}, "damaged"]
    digests = [text_digests(memory_with(value)) for value in variants]
    assert len(set(digests)) == len(variants)


@pytest.mark.parametrize(
    ("given_guard", "words"),
    [
        (
            Guard(("*.sql",), ("git push --force", "terraform apply"), ASK),
            "Claude Code asks you each time Claude runs `git push --force` or `terraform apply` or changes `*.sql`",
        ),
        (
            Guard((), ("psql",), REMIND),
            "blocks the first call in each session that runs `psql`, and shows Claude this memory; a second try goes through",
        ),
        (Guard(("/etc/hosts",), (), ASK), "Claude Code asks you each time Claude changes `./etc/hosts`"),
    ],
)
def test_guard_in_words_explains_action_and_condition(given_guard: Guard, words: str) -> None:
    assert guard_in_words(given_guard) == words


@pytest.mark.parametrize(
    ("written", "command"),
    [
        ("Bash(npm install:*)", "npm install"),
        ("npm install:*", "npm install"),
        ("PowerShell(Remove-Item *)", "Remove-Item"),
        ("npm install *", "npm install"),
        ("npm install*", "npm install*"),
        ("rm -rf /*", "rm -rf /*"),
    ],
)
def test_the_client_s_rules_are_understood(written: str, command: str) -> None:
    guard = parse_guard({"commands": [written], "files": ["Edit(gen/**)", "Write(./src/*.ts)", "./.env"]})
    assert guard is not None
    assert (guard.commands, guard.files) == ((command,), ("gen/**", "/src/*.ts", "/.env"))


@pytest.mark.parametrize(
    ("written", "advice"),
    [
        ("np* install", "program's name"),
        ("* --force", "program's name"),
        ("FOO=1 npm test", "leave out"),
        ("cd web && npm install", "leave out |, &&"),
        ("$ npm install", "leave out a prompt"),
        ("kubectl delete ...", "stands for its arguments"),
        ("kubectl delete [flags] pod", "stands for its arguments"),
        ("kubectl delete <name>", "stands for its arguments"),
        ("if true", "leave out"),
        ("mcp__github__create_issue", "/permissions"),
        ("WebFetch(domain:example.com)", "/permissions"),
        ("Bash", "/permissions"),
        ("^git push", "no regular expressions"),
        ("git push.*--force", "no regular expressions"),
        ("npm install, yarn add", "by itself"),
        ("npm run {build,test}", "by itself"),
        ("/cargo publish.*/", "no regular expressions"),
        ("\\bcargo\\s+publish", "no regular expressions"),
        ("prefix:cargo publish", "no regular expressions"),
        ("TRUNCATE TABLE orders", "psql"),
    ],
)
def test_a_command_that_no_call_could_run_is_refused_with_advice(written: str, advice: str) -> None:
    with pytest.raises(InvalidGuard, match="start of one command") as refused:
        parse_guard({"commands": [written]})
    assert advice in str(refused.value)
