"""Read shell lines: which commands run again, how they change the environment, and what they start or stop.

The lists of commands and the patterns are those of `config/capture/errors.json`.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import NamedTuple

from ..kernel.paths import load_data
from ..kernel.text.clean import plain
from ..memories.guarded_commands import base_name, run_commands

_MAX_SHELL_LINE = 4000
_MAX_HEAD = 3  # words
_PLAIN_WORD = re.compile(r"[A-Za-z][\w:.-]*\Z")
_ACTIVATION = "activate"  # holds for its own shell line
_HIDING = ("| grep", "||")  # after these, a line passes although the command failed
# A variable for one command, or for the shell line.
_VARIABLE = re.compile(r"(?:^|[;&|\n] *)([A-Z_][A-Z_\d]*)=\S+ +(?=\w)|\bexport ([A-Z_][A-Z_\d]*)=")
_FOLDER = re.compile(r"\s*cd (?:\"[^\"]*\"|'[^']*'|\S+) *(?:&&|;|\n)")
_OPTIONS = r"(?: -\S+(?: (?!-)\S+)?)*? "  # each with a value or without
_FLAGS = re.IGNORECASE | re.MULTILINE
# Of a command: its program, and the names of what it starts, stops, installs or removes.
Target = tuple[str, frozenset[str]]


class CommandLine(NamedTuple):
    """The commands of one shell line, without those that only read, and their heads (program and subcommand).

    `is_check` says that they only run tests, linters, compilers or scripts, which fail and pass all day; `only_tells` that they only print
    a version, a list or the like.
    """

    heads: frozenset[tuple[str, ...]]
    commands: tuple[tuple[str, ...], ...]
    text: str
    is_check: bool
    only_tells: bool

    @property
    def run_files(self) -> frozenset[str]:
        """Return the names of what the commands run: programs, and what may be the script of an interpreter."""
        return frozenset(base_name(word) for words in self.commands for word in words[:2])

    @property
    def ends_looking(self) -> bool:
        """Return whether the exit code is that of a last command that only reads, such as `; ls build`."""
        _, end, last = self.text.rstrip("; \n").replace("\n", ";").rpartition(";")
        return bool(end) and not command_line(last).heads

    @property
    def options(self) -> frozenset[str]:
        """Return the options of all commands, their programs as written, and the variables: other ones may be the solution."""
        options = [word for words in self.commands for word in words if word[:1] == "-"]
        programs = [words[0] for words, command in _run(self.text) if tuple(command) in self.commands]
        variables = (found[1] or found[2] for found in _VARIABLE.finditer(self.text))
        return frozenset([*options, *programs, *variables])


@lru_cache(maxsize=256)
def command_line(text: str) -> CommandLine:
    """Parse a shell line; it has no heads if its commands only read."""
    known = (command for _, command in _run(text) if not command[0].startswith("$"))
    commands = [command for command in known if not _begins(command, "looks")]
    is_check = bool(commands) and all(map(_is_check, commands))
    tells = all(map(_tells, commands))
    return CommandLine(frozenset(map(head_of, commands)), tuple(map(tuple, commands)), text, is_check, tells)


def _tells(command: list[str]) -> bool:
    return error_pattern("tells").match(" ".join(command)) is not None


def _is_check(command: list[str]) -> bool:
    words = (word for word in command[: _MAX_HEAD * 2] if not word.startswith("-"))
    return bool(_begins(command, "loops")) or any(map(_names_check, words))


def runs_same(line: CommandLine, later: CommandLine) -> bool:
    """Return whether a later line runs every command of a line again, and its exit code says whether the command did its work."""
    repeated = (any(_repeats(command, other) for other in later.commands) for command in line.commands)
    is_hidden = any(later.text.count(mark) > line.text.count(mark) for mark in _HIDING)
    is_hidden |= later.text.rstrip().endswith("&") or (later.only_tells and not line.only_tells)
    return bool(line.commands) and not is_hidden and all(repeated)


def _repeats(command: tuple[str, ...], later: tuple[str, ...]) -> bool:
    """Return whether a later command runs all that a command ran; of a check, options alone, or an install of all, exactly the same.

    Options may differ. Another program counts only with exactly the same arguments.
    """
    if command[0] != later[0]:
        return len(command) > 2 and command[1:] == later[1:]
    before, after = ({word for word in words[1:] if not word.startswith("-")} for words in (command, later))
    is_exact = _is_check(list(command)) or not (before or len(command) == 1 or _tells(list(command)))
    is_exact |= len(before) == 1 and _begins(list(command), "changes", "install") is not None
    return before == after if is_exact else before <= after


def change_kind(text: str) -> str:
    """Return how a command line changes the environment: install, service, setup, files, format or script; otherwise ""."""
    if error_pattern("piped_install").search(text[:_MAX_SHELL_LINE]):
        return "install"
    for words, command in _run(text):
        if _tells(command):
            continue
        for kind in ("install", "service", "setup", "files", "format"):
            if _begins(command, "changes", kind):
                return kind
        is_script = not words[0].startswith("/") and ("/" in words[0] or _begins(command, "runners"))
        is_known = "-c" in words or command[0] == _ACTIVATION or any(map(_names_check, command))
        if is_script and not is_known:
            return "script"
    return ""


def shown(text: str, failed: str, max_length: int) -> str:
    """Return a shell line on one line, without a folder that it changes to as the failed one did: the rest may be too long to fit."""
    folder = _FOLDER.match(failed)
    return plain(text.removeprefix(folder[0]) if folder else text, max_length)


def targets(text: str, name: str, *kinds: str) -> list[Target]:
    """Return what the commands of a shell line act on that are in a list of `config/capture/errors.json`."""
    begun = ((command[0], _begins(command, name, *kinds)) for _, command in _run(text))
    return [(program, _names(found.string[found.end() :])) for program, found in begun if found]


def _names(text: str) -> frozenset[str]:
    return frozenset(word.partition("=")[0] for word in text.split() if not word.startswith("-"))


def undoes(started: list[Target], stopped: list[Target]) -> bool:
    """Return whether something is started or installed again: the same names, or without names the same program."""
    pairs = ((one, other) for one in started for other in stopped)
    return any(
        names & before or (program == stopper and not (names and before))
        for (program, names), (stopper, before) in pairs
    )


@lru_cache(maxsize=64)
def _run(text: str) -> list[tuple[list[str], list[str]]]:
    """Return the words of each command of a shell line, as written and with the program's name alone."""
    return [(words, [base_name(words[0]), *words[1:]]) for words in run_commands(text[:_MAX_SHELL_LINE])]


def _names_check(word: str) -> bool:
    return error_pattern("check_words").match(word) is not None


def head_of(words: list[str]) -> tuple[str, ...]:
    """Return the program and the following words that look like subcommands, at most three words."""
    head = [words[0]]
    for word in words[1:]:
        if len(head) == _MAX_HEAD or not _PLAIN_WORD.match(word) or "." in word[-5:]:
            break
        head.append(word)
    return tuple(head)


def _begins(words: list[str], name: str, *kinds: str) -> re.Match[str] | None:
    """Return how a command begins with a line of a list, if it does; options may stand between the words."""
    return _prefixes(name, *(kinds or ("values",))).match(" ".join(words))


@cache
def error_pattern(name: str) -> re.Pattern[str]:
    """Return a pattern of `config/capture/errors.json` by its name."""
    entry = load_data("capture", "errors")[name]
    return re.compile("|".join(one["pattern"] for one in entry.get("patterns", [entry])), _FLAGS)


@cache
def _prefixes(name: str, *kinds: str) -> re.Pattern[str]:
    """Return a pattern of the beginnings of command lines in a list; `*` ends a word that may go on, or stands for one."""
    lines = sorted((line for kind in kinds for line in load_data("capture", "errors")[name][kind]), key=len)
    words = (re.escape(line).replace(r"\*", r"\S*").split(r"\ ") for line in reversed(lines))
    return re.compile("(?:%s)(?!\\S)" % "|".join(map(_OPTIONS.join, words)))
