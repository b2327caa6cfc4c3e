"""Define what detectors share: the table of signals, patterns, detections, the causes of failed calls, and the commands of a shell line.

To add a detector, write a generator in `signals.py`, let `collect_signals` call it, and give each of its signals an entry in
`config/sessions/signals.json`.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

from ..kernel.paths import load_data
from ..kernel.text import cut_before
from ..kernel.transcript.turn import Call
from ..memories.guarded_commands import run_by, unwrapped
from ..memories.shell_commands import SimpleCommand, shell_commands

_MAX_DESCRIPTION = 160
_MAX_TEXT = 2000  # characters of a result that are examined
_MAX_COMMAND = 20_000
OWN_ERROR = "errors"
_REFUSALS = ("denied", "cancelled", "not_read_errors", "hook_blocks")
# The arguments that tell most about a call, in order of preference.
_ARGUMENTS = "command file_path notebook_path path pattern url query skill subagent_type description prompt"
_PREPARATIONS = ("cd", "export", "source", "set")
_PIPES = ("|", "|&")
_SHELL_LIST = re.compile(r"(?s)\b(?:ba|z|s)?sh\b.*(?: \| |; )")  # as in `bash -c "a | b"`


@cache
def pattern(name: str) -> re.Pattern[str]:
    """Return a compiled pattern of `config/sessions/patterns.json`."""
    entries = load_data("sessions", "patterns")["patterns"]
    (text,) = (entry["pattern"] for entry in entries if entry["id"] == name)
    return re.compile(text, re.IGNORECASE | re.MULTILINE)


class Signal:
    """A signal of `config/sessions/signals.json`: how often and in which turns it was detected, and what the last one was."""

    def __init__(self, entry: Mapping[str, str]) -> None:
        self.name, self.label = entry["id"], entry["label"]
        self.dimension = entry["dimension"]
        self.count = 0
        self.turns: set[int] = set()
        self.last = ""

    def add(self, turn: int, what: str) -> None:
        """Record a detection."""
        self.count += 1
        self.turns.add(turn)
        text = " ".join(what[: 2 * _MAX_DESCRIPTION].split())
        self.last = text[: cut_before(text, _MAX_DESCRIPTION)].rstrip()


def failure_cause(call: Call, version: str) -> str:
    """Return the signal of a failed call: OWN_ERROR for the tool's own error, one of four for a call that was not run.

    An empty text means that it did not fail. `version` is the client's.
    """
    if not call.failed:
        return ""
    text = (call.result or "")[:_MAX_TEXT]
    for refusal in _REFUSALS:
        if pattern(refusal).search(text):
            return refusal
    return "hook_blocks" if _is_hook_text(call, text, version) else OWN_ERROR


def _is_hook_text(call: Call, text: str, version: str) -> bool:
    """Return whether a failed command's text comes from a hook.

    Since version 2.1 the client begins the output of a failed command with its exit code, and the text of a hook without one.
    """
    if call.name != "Bash" or not version[:1].isdigit() or version.startswith(("0.", "1.", "2.0.")):
        return False
    is_error = text.lstrip().lower().startswith(("<tool_use_error>", "error", "command timed out", "user "))
    return bool(text.strip()) and not is_error and not pattern("exit_code").match(text)


def main_argument(call: Call) -> str:
    """Return the argument that tells most about a call: its command, file or pattern."""
    return next((call.text(name) for name in _ARGUMENTS.split() if call.text(name)), "")


class Head(NamedTuple):
    """The first command of a pipeline, without wrappers and with them; `hidden` means that the line's exit code tells nothing of it."""

    words: list[str]
    all_words: list[str]
    redirections: list[str]
    hidden: bool


def pipeline_heads(line: str) -> list[Head]:
    """Return the first command of every pipeline in a shell line, without wrappers, substitutions, and commands such as `cd`."""
    commands = [command for command in shell_commands(line[:_MAX_COMMAND]) if not command.depth]
    strict = any(command.words[0] == "set" and "pipefail" in command.words for command in commands)
    heads: list[Head] = []
    previous_operator = ""
    for command, is_shown in zip(commands, _failure_shows(commands)):
        words = unwrapped(command.words)
        if previous_operator not in _PIPES and words[0] not in _PREPARATIONS:
            is_list = _SHELL_LIST.search(" ".join(command.words)) is not None
            hidden = not is_shown or is_list or (command.operator in _PIPES and not strict)
            heads.append(Head(words, command.words, command.redirections, hidden))
        previous_operator = command.operator
    return heads


def _failure_shows(commands: list[SimpleCommand]) -> list[bool]:
    """Return for each command whether the whole line fails if its pipeline fails."""
    shown: list[bool] = []
    following: list[str] = []
    for command in reversed(commands):
        if command.operator == "||":
            shown.append(following[:1] != [] and following[0] in ("exit", "return", "false"))
        elif command.operator in ("&&", *_PIPES):
            shown.append(shown[-1] if shown else True)
        else:
            shown.append(command.operator != "&" and not following)
        following = command.words
    return shown[::-1]


@cache
def _command_table() -> dict[str, Any]:
    return load_data("sessions", "commands")


@cache
def _tests() -> tuple[list[list[str]], re.Pattern[str]]:
    """Return the commands that run tests, and a pattern of their programs."""
    tests = [command.split() for command in _command_table()["tests"]]
    return tests, re.compile(r"\b(?:%s)" % "|".join(sorted({re.escape(words[0]) for words in tests})))


def runs_tests(head: Head) -> bool:
    """Return whether a command runs tests, itself or through another command, and does not only list them."""
    table, (tests, programs), line = _command_table(), _tests(), " ".join(head.all_words)
    if not programs.search(line) or pattern("no_tests").search(line):
        return False
    lines = [shlex.join(head.all_words)]
    if head.words[0] in table["elsewhere"]:  # some of its words are the command
        lines = [" ".join(head.words[at:]) for at in range(1, len(head.words))]
    return any(run_by(line, tests) for line in lines)


def tool_for(head: Head) -> tuple[str, str]:
    """Return the table's row, by id, for a command that a tool of Claude could replace, and the tool; empty if there is none."""
    words = {*head.words[1:], *head.redirections}
    for entry in _command_table()["stands_for"]:
        has_option = "options" not in entry or not words.isdisjoint(entry["options"])
        if head.words[0] in entry["words"] and has_option and words.isdisjoint(entry.get("without", ())):
            return str(entry["id"]), str(entry["tool"])
    return "", ""
