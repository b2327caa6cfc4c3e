"""Code, messages, data and docs use the field's terms: `banned.json` lists banned wordings and what to write instead.

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
# In data only the fields for people are checked: patterns and word lists must hold the words that users and models write.
READ_BY_PEOPLE = {"reason", "description", "says", "do", "meaning", "note", "why", "title", "ways"}


class Rule(NamedTuple):
    """A banned wording: a regular expression, and what to write instead."""

    id: str
    pattern: re.Pattern[str]
    instead: str


def load() -> tuple[list[dict[str, object]], dict[str, dict[str, str]]]:
    """Return the entries of `banned.json` and its exceptions by path and rule."""
    with open(os.path.join(HERE, "banned.json"), encoding="utf-8") as file:
        table = json.load(file)
    return table["rules"], table["exceptions"]


ENTRIES, EXCEPTIONS = load()
RULES = [
    Rule(str(entry["id"]), re.compile(str(entry["pattern"]), re.IGNORECASE), str(entry["instead"]))
    for entry in ENTRIES
]
# Tried first: most lines match no rule.
ANY_RULE = re.compile("|".join("(?:%s)" % rule.pattern.pattern for rule in RULES), re.IGNORECASE)


def checked_files() -> list[str]:
    """Return the files that are checked, as paths relative to the repository's root."""
    paths = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard"],
        cwd=PLUGIN_ROOT,
        capture_output=True,
        encoding="utf-8",
        check=False,
    ).stdout.split("\n")
    return [
        path
        for path in paths
        if path.startswith((*PRODUCT, *CHECKS, *PROSE))
        and path.endswith((".py", ".md", ".json", "/memory"))
        and "tests/language/" not in path
        and os.path.isfile(os.path.join(PLUGIN_ROOT, path))
    ]


def checked_texts(path: str, text: str) -> Iterator[tuple[int, str]]:
    """Yield line number and text of each piece of a file that is checked."""
    if path.endswith(".json"):
        yield from ((1, piece) for piece in texts_for_people(json.loads(text)))
    elif path.endswith(".py") and path.startswith(CHECKS):
        yield from names_and_comments(text)
    else:
        yield from enumerate(text.split("\n"), 1)


def texts_for_people(value: object, key: str = "") -> Iterator[str]:
    """Yield the texts in a JSON value whose fields are for people."""
    if isinstance(value, dict):
        for name, part in value.items():
            yield from texts_for_people(part, name)
    elif isinstance(value, list):
        for part in value:
            yield from texts_for_people(part, key)
    elif isinstance(value, str) and key in READ_BY_PEOPLE:
        yield value


def names_and_comments(text: str) -> Iterator[tuple[int, str]]:
    """Yield line and text of comments, docstrings and defined names. String literals may quote anything."""
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef, ast.Module)):
            line = getattr(node, "lineno", 1)
            yield line, ast.get_docstring(node) or ""
            yield line, getattr(node, "name", "")


def findings(path: str, text: str) -> list[str]:
    """Return the banned wordings in a file, as `PATH:LINE: found; write: instead`."""
    exceptions = EXCEPTIONS.get(path, {})
    rules = [rule for rule in RULES if rule.id not in exceptions]
    found = []
    for line, piece in checked_texts(path, text):
        if not ANY_RULE.search(piece):
            continue
        for rule in rules:
            match = rule.pattern.search(piece)
            if match:
                found.append("%s:%d: %r; write: %s" % (path, line, match.group(), rule.instead))
    return found


@pytest.mark.slow
def test_no_file_has_a_banned_wording() -> None:
    found = []
    for path in checked_files():
        with open(os.path.join(PLUGIN_ROOT, path), encoding="utf-8") as file:
            found += findings(path, file.read())
    assert found == []


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: str(entry["id"]))
def test_a_rule_matches_its_hits_and_not_its_misses(entry: dict[str, list[str]]) -> None:
    pattern = re.compile(str(entry["pattern"]), re.IGNORECASE)
    assert entry["reason"]
    assert entry["hit"]
    assert [text for text in entry["hit"] if not pattern.search(text)] == []
    assert [text for text in entry["miss"] if pattern.search(text)] == []


def test_an_exception_is_still_needed() -> None:
    for path, exceptions in EXCEPTIONS.items():
        with open(os.path.join(PLUGIN_ROOT, path), encoding="utf-8") as file:
            text = file.read()
        for name, reason in exceptions.items():
            rule = next(rule for rule in RULES if rule.id == name)
            assert reason
            assert any(rule.pattern.search(piece) for _, piece in checked_texts(path, text)), (path, name)


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
def test_a_banned_wording_is_found(path: str, text: str, line: int) -> None:
    assert any(found.startswith("%s:%d:" % (path, line)) for found in findings(path, text))


@pytest.mark.parametrize(
    ("path", "text"),
    [
        pytest.param("tests/x.py", "TEXT = 'it waits for your word'\n", id="a text that a test quotes"),
        pytest.param("config/x.json", '{"pattern": "shall we"}', id="a pattern in data"),
        pytest.param("scripts/x.py", "threshold = 0.5  # pending until accepted\n", id="the field's words"),
    ],
)
def test_other_text_passes(path: str, text: str) -> None:
    assert findings(path, text) == []
