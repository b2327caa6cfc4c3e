"""The commands that messages, settings, documents and skills name are parsed as printed, and their settings exist."""

from __future__ import annotations

import ast
import glob
import json
import os
import re
import shlex
from collections.abc import Callable, Iterator
from functools import cache

import pytest

from memory_plugin.cli.command_context import UsageError
from memory_plugin.cli.command_line import parse_arguments
from memory_plugin.host.commands import COMMANDS
from memory_plugin.kernel.judge.question import setup_options
from memory_plugin.kernel.settings import judge_switches
from memory_plugin.kernel.settings.schema import find_key, keys
from tests.docs.pages import PAGES, page
from tests.project import PLUGIN_ROOT

# In backticks; after a colon, a comma, "or" or a parenthesis; or a text of its own. It ends with its clause.
NAMED = re.compile(
    r"""(?P<marked>`)?(?:(?<=[:;,] )|(?<=or )|(?<=\()|(?<=`)|^)memory (?P<words>[a-z]"""
    r"""(?:"[^"]*"|'[^']*'|\.\.\.|(?!\. |\.$|  | or | \()[^;,)"'`\n])*)""",
    re.MULTILINE,
)
# What is filled in where only certain values are accepted.
FILLED = (
    ("judge on %s", "judge on capture"),
    ("FEATURE", "capture"),
    ("feedback %s", "feedback useful"),
    ("DATE", "2031-12-31"),
    ("--category ...", "--category decision"),
    ("...", "x"),
)
NOUNS = {row.noun for row in COMMANDS.values()}


def texts_of_code() -> Iterator[tuple[str, str]]:
    """Yield each text of the package that is no docstring, with its file."""
    for path in glob.glob(os.path.join(PLUGIN_ROOT, "scripts", "**", "*.py"), recursive=True):
        with open(path, encoding="utf-8") as file:
            tree = ast.parse(file.read())
        documented = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documented:
                yield os.path.relpath(path, PLUGIN_ROOT), node.value


def texts_of_files() -> Iterator[tuple[str, str]]:
    """Yield the texts of documents, skills and settings, with their files."""
    patterns = (
        "skills/*/SKILL.md",
        "config/README.md",
        "config/judges/*.json",
        "config/settings.schema.json",
    )
    found = [
        os.path.relpath(p, PLUGIN_ROOT)
        for each in patterns
        for p in glob.glob(os.path.join(PLUGIN_ROOT, each))
    ]
    for name in (*PAGES, *found):
        yield from (
            (name, text)
            for text in (strings(json.loads(page(name))) if name.endswith(".json") else [page(name)])
        )


def strings(value: object) -> Iterator[str]:
    """Yield all texts in JSON data."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, (dict, list)):
        for below in value.values() if isinstance(value, dict) else value:
            yield from strings(below)


def commands_in(text: str) -> Iterator[list[str]]:
    """Yield the words of each command that a text names, with a stand-in for what is filled in."""
    for hit in NAMED.finditer(text):
        words = hit["words"].partition(" < ")[0].replace(":*", "")
        for stand_in in FILLED:
            words = words.replace(*stand_in)
        words = re.sub(r"(?<=\w)%s|%%", "", words)
        words = re.sub(r"%\(\w+\)s|%s|%d|\{\d\}", "x", words).strip()
        try:
            yield shlex.split(words, comments=True)
        except ValueError:
            yield [words]


@cache
def problem_with(*words: str) -> str:
    """Return why a command cannot be run as printed; empty if it parses and its setting exists."""
    if len(words) < 3 and words[0] in NOUNS:
        words = (*words, "--help")  # a command is mentioned, with or without its action
    try:
        arguments = parse_arguments(words)
    except UsageError as error:
        return str(error)
    except SystemExit as stop:
        return "" if not stop.code else "usage"
    key = getattr(arguments, "key", None) if arguments.command == "config" else None
    is_known = key in (None, "x") or find_key(key) or any(name.startswith(key + ".") for name in keys())
    return "" if is_known else "no setting " + str(key)


@pytest.mark.parametrize("texts", [texts_of_code, texts_of_files])
def test_a_command_that_a_text_names_is_parsed_as_printed(
    texts: Callable[[], Iterator[tuple[str, str]]], capsys: pytest.CaptureFixture[str]
) -> None:
    found, number = [], 0
    for name, text in texts():
        for words in commands_in(text) if "memory " in text else ():
            if words and words[0] in NOUNS:
                number += 1
                problem = problem_with(*words)
                if problem:
                    found.append("%s: memory %s: %s" % (name, " ".join(words), problem))
    capsys.readouterr()
    assert found == []
    assert number > 100


@pytest.mark.parametrize("name", ["failures", "features"])
def test_a_command_at_the_end_of_a_text_can_be_copied_with_it(name: str) -> None:
    path = os.path.join(PLUGIN_ROOT, "config", "judges", name + ".json")
    with open(path, encoding="utf-8") as file:
        texts = list(strings(json.load(file)))
    assert [text for text in texts if re.search(r": memory [^;`]*\w\.(?:$| [A-Z])", text)] == []


@pytest.mark.parametrize("feature", judge_switches())
def test_the_ways_to_set_up_a_judge_name_settings_that_exist(feature: str) -> None:
    named = [words for way in setup_options(feature) for words in commands_in(way)]
    assert len(named) == 4
    assert [(words, problem_with(*words)) for words in named if problem_with(*words)] == []
