"""Code, messages, data and docs use the field's words: `banned.json` lists the words that do not pass, and what to write instead.

The form of docstrings (PEP 257, imperative first line) is checked by ruff's rules D, D401 among them.
"""

from __future__ import annotations

import ast
import io
import json
import os
import re
import subprocess
import tokenize
from collections.abc import Iterator
from typing import NamedTuple

import pytest

from tests.project import PLUGIN_ROOT

HERE = os.path.dirname(os.path.abspath(__file__))
PRODUCT = ("scripts/", "hooks/", "bin/")
CHECKS = ("tests/", "benchmarks/")
PROSE = (
    "docs/",
    "skills/",
    "agents/",
    "README.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "config/",
    ".claude-plugin/",
)
# Of data only what a person reads is checked: patterns and word lists must hold the words that users and models write.
READ_BY_PEOPLE = {"reason", "description", "says", "do", "meaning", "note", "why", "title", "ways"}


class Rule(NamedTuple):
    """A banned wording: `pattern` is a regular expression, `instead` what to write."""

    id: str
    pattern: re.Pattern[str]
    instead: str


def load() -> tuple[list[dict[str, object]], dict[str, dict[str, str]]]:
    """Return the entries of `banned.json` and its exceptions by path and rule."""
    with open(os.path.join(HERE, "banned.json"), encoding="utf-8") as file:
        table = json.load(file)
    return table["rules"], table["exceptions"]


ENTRIES, EXCEPTIONS = load()


RULES = [Rule(str(e["id"]), re.compile(str(e["pattern"]), re.IGNORECASE), str(e["instead"])) for e in ENTRIES]
ANY = re.compile(
    "|".join("(?:%s)" % rule.pattern.pattern for rule in RULES), re.IGNORECASE
)  # most lines hold none


def tracked() -> list[str]:
    """Return the files of the repository that are checked, as paths relative to its root."""
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard"],
        cwd=PLUGIN_ROOT,
        capture_output=True,
        encoding="utf-8",
        check=False,
    ).stdout.split("\n")
    kept = [
        path
        for path in listed
        if path.startswith((*PRODUCT, *CHECKS, *PROSE)) and "tests/language/" not in path
    ]
    return [
        path
        for path in kept
        if path.endswith((".py", ".md", ".json", "/memory"))
        and os.path.isfile(os.path.join(PLUGIN_ROOT, path))
    ]


def words_of(path: str, text: str) -> Iterator[tuple[int, str]]:
    """Yield (line number, text) for each piece of a file that is checked."""
    if path.endswith(".json"):
        yield from ((1, piece) for piece in said(json.loads(text)))
    elif path.endswith(".py") and path.startswith(CHECKS):
        yield from names_and_comments(text)
    else:
        yield from enumerate(text.split("\n"), 1)


def said(value: object, key: str = "") -> Iterator[str]:
    """Yield the texts in a JSON value that are written for people."""
    if isinstance(value, dict):
        for name, part in value.items():
            yield from said(part, name)
    elif isinstance(value, list):
        for part in value:
            yield from said(part, key)
    elif isinstance(value, str) and key in READ_BY_PEOPLE:
        yield value


def names_and_comments(text: str) -> Iterator[tuple[int, str]]:
    """Yield comments, docstrings and defined names: what a test quotes may be any text."""
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef, ast.Module)):
            line = getattr(node, "lineno", 1)
            yield line, ast.get_docstring(node) or ""
            yield line, getattr(node, "name", "")


def findings(path: str, text: str) -> list[str]:
    """Return what is banned in a file, as `PATH:LINE: found; write: instead`."""
    allowed = EXCEPTIONS.get(path, {})
    used = [rule for rule in RULES if rule.id not in allowed]
    found = []
    for line, piece in words_of(path, text):
        if ANY.search(piece):
            matches = [(rule, rule.pattern.search(piece)) for rule in used]
            found += [
                "%s:%d: %r; write: %s" % (path, line, m.group(), rule.instead) for rule, m in matches if m
            ]
    return found


@pytest.mark.slow
def test_every_file_uses_the_words_of_the_field() -> None:
    found = []
    for path in tracked():
        with open(os.path.join(PLUGIN_ROOT, path), encoding="utf-8") as file:
            found += findings(path, file.read())
    assert found == []


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: str(entry["id"]))
def test_a_rule_finds_its_hits_and_passes_its_misses(entry: dict[str, list[str]]) -> None:
    pattern = re.compile(str(entry["pattern"]), re.IGNORECASE)
    assert entry["reason"]
    assert entry["hit"]
    assert [text for text in entry["hit"] if not pattern.search(text)] == []
    assert [text for text in entry["miss"] if pattern.search(text)] == []


def test_an_exception_is_still_needed() -> None:
    for path, allowed in EXCEPTIONS.items():
        with open(os.path.join(PLUGIN_ROOT, path), encoding="utf-8") as file:
            text = file.read()
        for name, reason in allowed.items():
            rule = next(rule for rule in RULES if rule.id == name)
            assert reason
            assert any(rule.pattern.search(piece) for _, piece in words_of(path, text)), (path, name)


@pytest.mark.parametrize(
    ("path", "text", "line"),
    [
        pytest.param("scripts/x.py", "a = 1\nprint('it waits for your word')\n", 2, id="a message"),
        pytest.param(
            "tests/x.py",
            '"""Doc."""\n\n\ndef test_floor_of_confidence() -> None:\n    """No trouble."""\n',
            4,
            id="a test's docstring",
        ),
        pytest.param("docs/x.md", "Fine.\n\nThe index is made anew.\n", 3, id="a page"),
        pytest.param("config/x.json", '{"reason": "mends what is lifeless"}', 1, id="a reason in data"),
    ],
)
def test_the_check_fails_on(path: str, text: str, line: int) -> None:
    assert any(found.startswith("%s:%d:" % (path, line)) for found in findings(path, text))


@pytest.mark.parametrize(
    ("path", "text"),
    [
        pytest.param("tests/x.py", "TEXT = 'it waits for your word'\n", id="a text that a test quotes"),
        pytest.param("config/x.json", '{"pattern": "shall we"}', id="a pattern in data"),
        pytest.param("scripts/x.py", "threshold = 0.5  # pending until accepted\n", id="the field's words"),
    ],
)
def test_the_check_passes(path: str, text: str) -> None:
    assert findings(path, text) == []
