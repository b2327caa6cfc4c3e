"""Find solved errors: a command failed, something in the environment changed, and the same command passed.

The usual loop of testing and editing code does not count, and neither do errors that say how to fix them.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator
from functools import cache, lru_cache
from typing import NamedTuple

from ..kernel.paths import load_data
from ..kernel.text import cut_before
from ..kernel.text.clean import plain
from ..kernel.transcript.turn import Call, Turn
from ..memories.guarded_commands import base_name, run_commands
from ..memories.hygiene import shown_line
from .candidate import CHANGED

_MAX_OPEN = 12
_MAX_OUTPUT = 40_000  # characters of an output that are searched
_MAX_LINE = 200
_MAX_COMMAND = 240
_MAX_SYMPTOM = 3
_MAX_CHANGES = 6
_MAX_STOPS = 3  # commands before a failure that may have caused it on purpose
# These record work and change nothing for other commands, except those in the list of changes.
_RECORDING = ("git", "gh")
_HOOKED = ("git", "commit")  # fails if its hooks find something in the code
_EDITS = frozenset(["Edit", "Write", "MultiEdit", "NotebookEdit"])
_MAX_SHELL_LINE = 4000
_MAX_HEAD = 3  # words
_PLAIN_WORD = re.compile(r"[A-Za-z][\w:.-]*\Z")
_KNOWN = (
    "install",
    "service",
    "setup",
    "files",
    "config",
    "script",
)  # kinds of changes that surely solve something
_TOLD = ("install", "arguments")  # kinds that explain why a command that only tells something passes
_ACTIVATION = "activate"  # holds for its own shell line
_BYPASSES = ("--no-verify", "--force-with-lease")
_MAX_QUOTE = 160
_HIDING = ("| grep", "||")  # after these, a line passes although the command failed
_VARIABLE = re.compile(r"(?:^|[;&|\n] *|\bexport )([A-Za-z_]\w*)=")
_OPTIONS = r"(?: -\S+(?: (?!-)\S+)?)*? "  # each with a value or without
_FLAGS = re.IGNORECASE | re.MULTILINE
_Target = tuple[
    str, frozenset[str]
]  # of a command: its program, and the names of what it starts, stops, installs or removes


class SolvedError(NamedTuple):
    """The contents of a runbook: the command, the error lines, the changes, the command that passed, and the turn of the failure."""

    command: str
    symptom: tuple[str, ...]
    changes: tuple[str, ...]
    proof: str
    failed: int
    strength: float

    @property
    def title(self) -> str:
        """Return a title with the first words of the last command and the most telling error line."""
        head = _head(list(command_line(self.command).commands[-1]))
        return "`%s` fails: %s" % (" ".join(head), self.symptom[0].lstrip("*0123456789.) "))

    @property
    def body(self) -> str:
        """Return the text of the runbook: the error, the changes that solved it, and the command that shows it."""
        failed, passed = (shown_line(line, _MAX_COMMAND) for line in (self.command, self.proof))
        changes = "\n".join("- " + change for change in self.changes)
        symptom = "\n".join("  " + line for line in self.symptom)
        return "`%s` fails:\n%s\n%s\n%s\n`%s` passes then." % (failed, symptom, CHANGED, changes, passed)


class _Failure:
    """A failed command, and the changes until the same command passes or fails differently, which ends them."""

    def __init__(self, line: CommandLine, symptom: tuple[str, ...], turn: int, stops: list[_Target]) -> None:
        self.line = line
        self.stops = stops
        self.symptom = symptom
        self.turn = turn
        self.changes: dict[str, str] = {}  # with how each changes the environment, "" if it does not
        self.edited_code = self.edited_itself = self.has_ended = self.on_purpose = False

    def add(self, change: str, kind: str) -> None:
        """Record a change and how it changes the environment."""
        if not self.has_ended and len(self.changes) <= _MAX_CHANGES:
            self.changes.setdefault(change, kind)


class ErrorWatch:
    """Follows the tool calls of a session, turn by turn. Keeps at most 12 unsolved failures."""

    def __init__(self) -> None:
        self._open: deque[_Failure] = deque(maxlen=_MAX_OPEN)
        self._stops: deque[list[_Target]] = deque(maxlen=_MAX_STOPS)

    def solved(self, turn: Turn) -> list[SolvedError]:
        """Return the errors that the calls of a turn solved."""
        solved_errors: list[SolvedError] = []
        for call in turn.calls:
            if call.command and call.result is not None:
                solved_errors += self._command(call, turn.number)
            elif call.name in _EDITS and not call.failed:
                self._edit((call.text("file_path") or call.text("notebook_path")).replace("\\", "/"), call)
        return solved_errors

    def _edit(self, path: str, call: Call) -> None:
        is_config = error_pattern("config_files").search(path) is not None
        name = plain(path.rpartition("/")[2], 80)
        change = _config_change(name, call) if is_config else "edited %s" % name
        for failure in self._open:
            failure.add(change, "config" if is_config else "")
            failure.edited_code |= not (is_config or failure.has_ended)
            failure.edited_itself |= not failure.has_ended and name in failure.line.run_files

    def _command(self, call: Call, turn: int) -> list[SolvedError]:
        text, output = call.command, (call.result or "")[:_MAX_OUTPUT]
        line = command_line(text)
        if call.failed:
            self._failed(line, output, turn)
        if call.failed or error_pattern("failed_output").search(output):
            return []
        same = [failure for failure in self._open if runs_same(failure.line, line)]
        solved_errors = [self._solved(failure, line) for failure in same]
        self._open = deque((failure for failure in self._open if failure not in same), _MAX_OPEN)
        kind, stopped = change_kind(text), _targets(text, "stops")
        does = line.heads and not line.is_check and not line.only_tells
        started = [] if stopped else _targets(text, "changes", "install", "service", "setup", "files")
        for failure in self._open:
            failure.on_purpose |= _undoes(started, failure.stops)
        self._stops = deque((each for each in self._stops if not _undoes(started, each)), _MAX_STOPS)
        self._stops.append(stopped)
        if kind or (does and text.split()[0] not in _RECORDING):
            for failure in self._open:
                failure.add("ran `%s`" % plain(text, 120), kind)
        return [error for error in solved_errors if error is not None]

    def _failed(self, line: CommandLine, output: str, turn: int) -> None:
        """Record a failure, unless the same command failed with the same error before, which stays open."""
        symptom = _symptom(output)
        for failure in self._open:
            if runs_same(failure.line, line):
                if not set(failure.symptom).isdisjoint(symptom):
                    failure.has_ended = False
                    return
                failure.has_ended = True
        if line.heads and symptom and not explains_itself(output):
            self._open.append(
                _Failure(line, symptom, turn, [stop for stops in self._stops for stop in stops])
            )

    def _solved(self, failure: _Failure, line: CommandLine) -> SolvedError | None:
        """Return the solved error; None if it was part of the usual loop or on purpose, only code changed, or steps are unknown."""
        in_environment = any(map(error_pattern("surroundings").search, failure.symptom))
        changes = dict(failure.changes)
        new_options = line.options - failure.line.options
        _, _, program = failure.line.text.partition("<<")
        is_rewritten = (
            failure.line.is_check and line.programs == failure.line.programs and program not in line.text
        )
        if in_environment and new_options and not is_rewritten:
            changes["ran `%s` instead" % plain(line.text, 160)] = "arguments"
        kinds = set(changes.values()) - {""}
        if failure.line.is_check or failure.edited_code:  # then a formatter explains nothing
            kinds.discard("format")
        if not any(map(error_pattern("about_files").search, failure.symptom)):
            kinds.discard("files")
        is_work = failure.edited_itself or (
            failure.edited_code and (not in_environment or _HOOKED in failure.line.heads)
        )
        if (
            is_work
            or failure.on_purpose
            or len(changes) > _MAX_CHANGES
            or not new_options.isdisjoint(_BYPASSES)
        ):
            return None
        if not in_environment:
            kinds -= {"config", "script"}
        if not kinds or (failure.line.only_tells and kinds.isdisjoint(_TOLD)):
            return None
        steps = tuple(change for change, kind in changes.items() if kind or change.startswith("ran "))
        strength = 0.55 + 0.15 * in_environment + 0.1 * (not kinds.isdisjoint(_KNOWN))
        return SolvedError(failure.line.text, failure.symptom, steps, line.text, failure.turn, strength)


def _config_change(name: str, call: Call) -> str:
    """Return what an edit of a configuration file put in, or else took out; of variables, which may be secret, nothing."""
    before, after = (
        dict.fromkeys(map(str.strip, text.splitlines()))
        for text in (call.text("old_string"), call.text("new_string") or call.text("content"))
    )
    said = "in %s: %s", [line for line in after if line not in before]
    if not said[1]:
        said = "removed from %s: %s", [line for line in before if line not in after]
    text = plain(" ".join(said[1]), _MAX_QUOTE)
    return said[0] % (name, text) if text and not name.startswith(".env") else "edited %s" % name


def _symptom(output: str) -> tuple[str, ...]:
    """Return the lines of an output that describe the error, at most three, those about the surroundings first; none if none does."""
    cut = (line[: cut_before(line, _MAX_LINE)] for line in output.replace("\\n", "\n").splitlines()[:400])
    lines = (plain(line, _MAX_LINE).strip("\u2502\u2503 ") for line in cut)
    telling = dict.fromkeys(line for line in lines if error_pattern("telling").search(line))
    useful = [line for line in telling if not error_pattern("decoration").search(line)]
    return tuple(
        sorted(useful, key=lambda line: not error_pattern("surroundings").search(line))[:_MAX_SYMPTOM]
    )


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
    def programs(self) -> list[str]:
        """Return the programs of the commands in order, without their folders."""
        return [command[0] for command in self.commands]

    @property
    def run_files(self) -> frozenset[str]:
        """Return the names of what the commands run: programs, and what may be the script of an interpreter."""
        return frozenset(base_name(word) for words in self.commands for word in words[:2])

    @property
    def options(self) -> frozenset[str]:
        """Return the options of all commands, their programs as written, and the variables: other ones may be the solution."""
        options = [word for words in self.commands for word in words if word[:1] == "-"]
        programs = [words[0] for words, command in _run(self.text) if tuple(command) in self.commands]
        return frozenset([*options, *programs, *_VARIABLE.findall(self.text)])


@lru_cache(maxsize=256)
def command_line(text: str) -> CommandLine:
    """Parse a shell line; it has no heads if its commands only read."""
    known = (command for _, command in _run(text) if not command[0].startswith("$"))
    commands = [command for command in known if not _begins(command, "looks")]
    is_check = bool(commands) and all(map(_is_check, commands))
    tells = all(map(_tells, commands))
    return CommandLine(frozenset(map(_head, commands)), tuple(map(tuple, commands)), text, is_check, tells)


def _tells(command: list[str]) -> bool:
    return error_pattern("tells").match(" ".join(command)) is not None


def _is_check(command: list[str]) -> bool:
    words = (word for word in command[: _MAX_HEAD * 2] if not word.startswith("-"))
    return bool(_begins(command, "loops")) or any(map(_names_check, words))


def runs_same(line: CommandLine, later: CommandLine) -> bool:
    """Return whether a later line runs every command of a line again, and its exit code is that of the command."""
    repeated = (any(_repeats(command, other) for other in later.commands) for command in line.commands)
    is_hidden = any(later.text.count(mark) > line.text.count(mark) for mark in _HIDING)
    return bool(line.commands) and not is_hidden and all(repeated)


def _repeats(command: tuple[str, ...], later: tuple[str, ...]) -> bool:
    """Return whether a later command runs all that a command ran; of a check, exactly the same.

    Options may differ. Another program counts only with exactly the same arguments.
    """
    if command[0] != later[0]:
        return len(command) > 2 and command[1:] == later[1:]
    before, after = ({word for word in words[1:] if not word.startswith("-")} for words in (command, later))
    return before == after if _is_check(list(command)) else before <= after


def change_kind(text: str) -> str:
    """Return how a command line changes the environment: install, service, setup, files, format or script; otherwise ""."""
    for words, command in _run(text):
        if _tells(command):
            continue
        for kind in ("install", "service", "setup", "files", "format"):
            if _begins(command, "changes", kind):
                return kind
        is_script = "/" in words[0] or _begins(command, "runners")
        if (
            is_script
            and not words[0].startswith("/")
            and not any(map(_names_check, command))
            and "-c" not in words
            and command[0] != _ACTIVATION
        ):
            return "script"
    return ""


def _targets(text: str, name: str, *kinds: str) -> list[_Target]:
    """Return what the commands of a shell line act on that are in a list of `config/capture/errors.json`."""
    begun = ((command[0], _begins(command, name, *kinds)) for _, command in _run(text))
    return [(program, _names(found.string[found.end() :])) for program, found in begun if found]


def _names(text: str) -> frozenset[str]:
    return frozenset(word.partition("=")[0] for word in text.split() if not word.startswith("-"))


def _undoes(started: list[_Target], stopped: list[_Target]) -> bool:
    """Return whether something is started or installed again: the same names, or without names the same program."""
    pairs = ((one, other) for one in started for other in stopped)
    return any(
        names & before or (program == stopper and not (names and before))
        for (program, names), (stopper, before) in pairs
    )


def _run(text: str) -> Iterator[tuple[list[str], list[str]]]:
    """Yield the words of each command of a shell line, as written and with the program's name alone."""
    for words in run_commands(text[:_MAX_SHELL_LINE]):
        yield words, [base_name(words[0]), *words[1:]]


def _names_check(word: str) -> bool:
    return error_pattern("check_words").match(word) is not None


def _head(words: list[str]) -> tuple[str, ...]:
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


def explains_itself(output: str) -> bool:
    """Return whether an output contains an error that says how to fix it, which needs no memory."""
    return error_pattern("generic").search(output) is not None


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
