"""Find solved errors: a command failed, something in the environment changed, and the same command passed.

The usual loop of testing and editing code does not count, and neither do errors that say how to fix them.
"""

from __future__ import annotations

import re
from collections import deque
from itertools import chain
from typing import NamedTuple

from ..host import EDITORS
from ..kernel.fastjson import as_object, as_text
from ..kernel.text import cut_before
from ..kernel.text.clean import plain
from ..kernel.transcript.turn import Call, Turn
from ..memories.hygiene import shown_line
from .candidate import CHANGED
from .command_lines import (
    CommandLine,
    Target,
    change_kind,
    command_line,
    error_pattern,
    head_of,
    runs_same,
    shown,
    targets,
    undoes,
)

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
# Kinds of changes that surely solve something.
_KNOWN = ("install", "service", "setup", "files", "config", "script")
_TOLD = ("install", "arguments")  # kinds that explain why a command that only tells something passes
_BYPASSES = ("--no-verify", "--force", "--force-with-lease")
_MAX_QUOTE = 160
# In a configuration file: what may be secret although no rule of hygiene is sure.
_MAY_BE_SECRET = re.compile(r"(?i)secret|token|pass|pwd|key|credential|auth|cert|-----BEGIN|://[^/\s]*@")
# Colors, and the number and time of a step that builds an image.
_NOISE = re.compile(r"\x1b\[[\d;]{0,20}[A-Za-z]|^#\d+ (?:\d+\.\d+ )?")
_WRITTEN = re.compile(r"(?: >|--?o(?:utput)?) ?([\w./~-]+)`$")  # the file that a command writes at its end
_WINDOWS_PATH = re.compile(r"\b[A-Za-z]:\\\w")  # its `\n` ends no line
_PLACE = re.compile(r"[^\s'\"]*[/\\][^\s'\"]*|\d+")  # where an error is: a path, a number


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
        head = head_of(list(command_line(self.command).commands[-1]))
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

    def __init__(self, line: CommandLine, symptom: tuple[str, ...], turn: int, stops: list[Target]) -> None:
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

    def came_again(self, line: CommandLine, symptom: tuple[str, ...]) -> bool:
        """Return whether a command of the same kind failed with the same error, of whatever file."""
        if self.line.heads.isdisjoint(line.heads):
            return False
        return _PLACE.sub("", self.symptom[0]) in (_PLACE.sub("", line) for line in symptom)

    def explaining(self, kinds: set[str], *, in_environment: bool) -> set[str]:
        """Return those kinds of changes that explain why the command passes."""
        if not in_environment and self.edited_code:
            return set()
        idle = {""} if in_environment else {"", "config", "script"}
        if self.line.is_check or self.edited_code:
            idle.add("format")
        if self.line.is_check and self.edited_code:
            idle.add("arguments")
        if self.line.is_check or not any(map(error_pattern("about_files").search, self.symptom)):
            idle.add("files")
        return kinds.intersection(_TOLD) if self.line.only_tells else kinds - idle


class ErrorWatch:
    """Follows the tool calls of a session, turn by turn. Keeps at most 12 unsolved failures."""

    def __init__(self) -> None:
        self._open: deque[_Failure] = deque(maxlen=_MAX_OPEN)
        self._stops: deque[list[Target]] = deque(maxlen=_MAX_STOPS)

    def solved(self, turn: Turn) -> list[SolvedError]:
        """Return the errors that the calls of a turn solved."""
        solved_errors: list[SolvedError] = []
        for call in turn.calls:
            if call.command and call.result is not None:
                solved_errors += self._command(call, turn.number)
            elif call.name in EDITORS and not call.failed:
                self._edit((call.text("file_path") or call.text("notebook_path")).replace("\\", "/"), call)
        return solved_errors

    def _edit(self, path: str, call: Call) -> None:
        is_config = error_pattern("config_files").search(path) is not None
        name = plain(path.rpartition("/")[2], 80)
        change = _config_change(name, call) if is_config else "edited %s" % name
        kind = "config" if is_config and not error_pattern("goes_round").search(change) else ""
        named = re.compile(r"\b%s\b" % re.escape(name.partition(".")[0]))  # the code that was missing
        for failure in self._open:
            failure.add(change, kind)
            failure.edited_code |= not (is_config or failure.has_ended)
            is_it = name in failure.line.run_files or bool(not kind and named.search(failure.symptom[0]))
            failure.edited_itself |= is_it and not failure.has_ended

    def _command(self, call: Call, turn: int) -> list[SolvedError]:
        text, output = call.command, (call.result or "")[:_MAX_OUTPUT].replace("\0", "")
        line = command_line(text)
        if call.failed or error_pattern("failed_output").search(output):
            self._failed(line, output, turn, by_exit_code=call.failed and not line.ends_looking)
            return []
        same = [failure for failure in self._open if runs_same(failure.line, line)]
        solved_errors = [self._solved(failure, line) for failure in same]
        self._open = deque((failure for failure in self._open if failure not in same), _MAX_OPEN)
        kind, stopped = change_kind(text), targets(text, "stops")
        does = line.heads and not line.is_check and not line.only_tells
        started = [] if stopped else targets(text, "changes", "install", "service", "setup", "files")
        for failure in self._open:
            failure.on_purpose |= undoes(started, failure.stops)
        self._stops = deque((each for each in self._stops if not undoes(started, each)), _MAX_STOPS)
        self._stops.append(stopped)
        if kind or (does and text.split()[0] not in _RECORDING):
            for failure in self._open:
                failure.add("ran `%s`" % shown(text, failure.line.text, _MAX_COMMAND), kind)
        return [error for error in solved_errors if error is not None]

    def _failed(self, line: CommandLine, output: str, turn: int, *, by_exit_code: bool) -> None:
        """Record a failure that the exit code tells, unless the same one is open; what changed before it came again did not help."""
        symptom = _symptom(output) if by_exit_code or self._open else ()
        is_open = False
        for failure in self._open:
            is_same = runs_same(failure.line, line)
            if failure.came_again(line, symptom):
                failure.has_ended, failure.changes = False, {}
                is_open |= is_same
            else:
                failure.has_ended |= is_same and by_exit_code
        if by_exit_code and not is_open and line.heads and symptom and not explains_itself(output):
            self._open.append(_Failure(line, symptom, turn, list(chain(*self._stops))))

    def _solved(self, failure: _Failure, line: CommandLine) -> SolvedError | None:
        """Return the solved error; None if it was part of the usual loop or on purpose, only code changed, or steps are unknown."""
        in_environment = any(map(error_pattern("surroundings").search, failure.symptom))
        changes = dict(failure.changes)
        new_options = line.options - failure.line.options
        # Another here-document, such as a script, is no option.
        is_rewritten = line.text.partition("<<")[2] not in failure.line.text
        if in_environment and new_options and not is_rewritten:
            changes["ran `%s` instead" % shown(line.text, failure.line.text, _MAX_COMMAND)] = "arguments"
        kinds = failure.explaining(set(changes.values()), in_environment=in_environment)
        is_commit = failure.edited_code and _HOOKED in failure.line.heads
        if is_commit or failure.edited_itself or failure.on_purpose or not new_options.isdisjoint(_BYPASSES):
            return None
        if not kinds or len(changes) > _MAX_CHANGES:
            return None
        texts, is_other = [*changes, line.text], kinds == {"arguments"}
        steps = tuple(each for each, kind in changes.items() if kind or _is_step(each, texts, is_other))
        strength = 0.55 + 0.15 * in_environment + 0.1 * (not kinds.isdisjoint(_KNOWN))
        return SolvedError(failure.line.text, failure.symptom, steps, line.text, failure.turn, strength)


def _is_step(change: str, texts: list[str], is_other: bool) -> bool:
    """Return whether a change is a command whose file another one reads; without a file, not if another form explains all (`is_other`)."""
    written = _WRITTEN.search(change)
    is_used = any(written[1] in text for text in texts if text != change) if written else not is_other
    return change.startswith("ran ") and is_used


def _config_change(name: str, call: Call) -> str:
    """Return what an edit of a configuration file put in, or else took out; nothing of what may be secret."""
    replaced = call.text("old_string") or as_text(as_object(call.details).get("originalFile"))
    before, after = (
        dict.fromkeys(map(str.strip, text.splitlines()))
        for text in (replaced, call.text("new_string") or call.text("content"))
    )
    said = "in %s: %s", [line for line in after if line not in before]
    if not said[1]:
        said = "removed from %s: %s", [line for line in before if line not in after]
    quote = " ".join(said[1])
    if not quote or name.startswith(".env") or _MAY_BE_SECRET.search(quote):
        return "edited %s" % name
    return said[0] % (name, shown_line(quote, _MAX_QUOTE))


def _symptom(output: str) -> tuple[str, ...]:
    """Return the lines of an output that describe the error, at most three, those about the surroundings first; none if none does."""
    text = output if _WINDOWS_PATH.search(output) else output.replace("\\n", "\n")
    cut = (line[: cut_before(line, _MAX_LINE)] for line in text.splitlines()[:400])
    lines = (plain(_NOISE.sub("", line), _MAX_LINE).strip("\u2502\u2503 ") for line in cut)
    telling = dict.fromkeys(line for line in lines if error_pattern("telling").search(line))
    useful = [line for line in telling if not error_pattern("decoration").search(line)]
    useful.sort(key=lambda line: not error_pattern("surroundings").search(line))
    return tuple(useful[:_MAX_SYMPTOM])


def explains_itself(output: str) -> bool:
    """Return whether an output contains an error that says how to fix it, which needs no memory."""
    return error_pattern("generic").search(output) is not None
