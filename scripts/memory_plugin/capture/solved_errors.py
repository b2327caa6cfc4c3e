"""Errors that were solved: a command failed, something changed, the same command passed.

Not for the daily loop of testing and editing the code at work, nor for errors that say themselves what to do.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, NamedTuple

from ..kernel.text.clean import plain
from .candidate import CHANGED
from .command_runs import change_of, command_run, explains_itself, is_loop, is_same, pattern_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..kernel.transcript.turn import Call, Turn
    from .command_runs import Run

__all__ = ["ErrorWatch", "SolvedError"]

_MOST_OPEN = 12
_MOST_CALLS = 60  # between a failure and the pass that ends it
_MOST_SEARCHED = 40_000  # characters of an output
_MAX_LINE = 200
_MAX_COMMAND = 240
_MOST_LINES = 3
_MOST_CHANGES = 6
_EDITS = frozenset(["Edit", "Write", "MultiEdit", "NotebookEdit"])
_SHELL = "Bash"


class SolvedError(NamedTuple):
    """What a runbook needs: the command, the lines that tell the error, what changed, and the turns of failure and pass."""

    command: str
    symptom: tuple[str, ...]
    changes: tuple[str, ...]
    proof: str
    failed: int
    passed: int
    strength: float

    @property
    def title(self) -> str:
        """Return a title: the command by its first words, and the line that tells most."""
        heads = sorted(command_run(self.command).heads)
        line = next(
            (text for text in self.symptom if pattern_of("surroundings").search(text)), self.symptom[0]
        )
        return "`%s` fails: %s" % (" ".join(heads[-1]) if heads else "command", line.lstrip("*0123456789.) "))

    @property
    def body(self) -> str:
        """Return what a runbook says: the error, what solved it, and the command that proves it."""
        lines = ["`%s` fails:" % plain(self.command, _MAX_COMMAND), *("  " + line for line in self.symptom)]
        lines += [CHANGED, *("- " + change for change in self.changes)]
        return "\n".join([*lines, "`%s` passes then." % plain(self.proof, _MAX_COMMAND)])


class _Failure:
    """A failed command, and what changed since."""

    __slots__ = ("age", "changes", "edited_code", "kinds", "run", "symptom", "turn")

    def __init__(self, run: Run, symptom: tuple[str, ...], turn: int) -> None:
        self.run = run
        self.symptom = symptom
        self.turn = turn
        self.age = 0
        self.changes: list[str] = []
        self.kinds: set[str] = set()
        self.edited_code = False


class ErrorWatch:
    """Follows the calls of a session; `solved` returns what a turn completed. Holds a dozen open failures at most."""

    __slots__ = ("_open",)

    def __init__(self) -> None:
        self._open: deque[_Failure] = deque(maxlen=_MOST_OPEN)

    def solved(self, turn: Turn) -> list[SolvedError]:
        """Return the errors that the calls of a turn showed to be solved."""
        solved_errors: list[SolvedError] = []
        for call in turn.calls:
            for failure in self._open:
                failure.age += 1
            if call.name == _SHELL and call.result is not None:
                solved_errors += self._command(call, turn.number)
            elif call.name in _EDITS and not call.failed:
                self._edit(call.text("file_path") or call.text("notebook_path"))
        while self._open and self._open[0].age > _MOST_CALLS:
            self._open.popleft()
        return solved_errors

    def _edit(self, path: str) -> None:
        is_config = pattern_of("config_files").search(path.replace("\\", "/")) is not None
        for failure in self._open:
            if is_config:
                failure.kinds.add("config")
                _note(failure, "edited %s" % plain(path.replace("\\", "/").rpartition("/")[2], 80))
            else:
                failure.edited_code = True

    def _command(self, call: Call, turn: int) -> list[SolvedError]:
        text, output = call.text("command"), (call.result or "")[:_MOST_SEARCHED]
        run = command_run(text)
        if call.failed:
            return self._failed(run, output, turn)
        if pattern_of("failed_output").search(output):
            return []
        solved_errors = [_solved(failure, run, turn) for failure in self._open if is_same(failure.run, run)]
        self._open = deque((failure for failure in self._open if not is_same(failure.run, run)), _MOST_OPEN)
        kind = change_of(text)
        for failure in self._open if kind else ():
            failure.kinds.add(kind)
            _note(failure, "ran `%s`" % plain(text, 120))
        return [solved_error for solved_error in solved_errors if solved_error is not None][
            :1
        ]  # what passes once proves one thing

    def _failed(self, run: Run, output: str, turn: int) -> list[SolvedError]:
        """Remember a failure. An earlier one of the same command with another error is solved by what changed in between."""
        if not run.heads or explains_itself(output):
            return []
        symptom = telling_lines(output)
        solved_errors: list[SolvedError] = []
        kept: list[_Failure] = []
        for failure in self._open:
            if not is_same(failure.run, run):
                kept.append(failure)
            elif set(failure.symptom).isdisjoint(symptom):
                solved_errors += [
                    solved
                    for solved in [_solved(failure, run, turn)]
                    if solved and failure.kinds - {"format"}
                ]
            else:  # the same error again: what was tried so far belongs to it
                failure.age = 0
                kept.append(failure)
                symptom = ()
        self._open = deque(kept, _MOST_OPEN)
        if symptom:
            self._open.append(_Failure(run, symptom, turn))
        return solved_errors


def _note(failure: _Failure, change: str) -> None:
    if change not in failure.changes and len(failure.changes) < _MOST_CHANGES:
        failure.changes.append(change)


def _solved(failure: _Failure, run: Run, turn: int) -> SolvedError | None:
    """Return the solved error; None for one of the daily loop, or where nothing in the surroundings changed."""
    changes, kinds = list(failure.changes), set(failure.kinds)
    in_surroundings = any(map(pattern_of("surroundings").search, failure.symptom))
    if is_loop(failure.run):
        kinds.discard("format")
        if not kinds or (failure.edited_code and not in_surroundings):
            return None
    if run.words != failure.run.words and in_surroundings:
        kinds.add("arguments")
        changes.append("ran `%s` instead" % plain(run.text, 160))
    if failure.edited_code and not is_loop(failure.run) and not kinds:
        kinds.add("code")
        changes.append("changed the code")
    if not kinds:
        return None
    strength = 0.55 + 0.15 * in_surroundings + 0.1 * bool(kinds & {"install", "service", "setup", "config"})
    symptom = failure.symptom
    return SolvedError(failure.run.text, symptom, tuple(changes), run.text, failure.turn, turn, strength)


def telling_lines(output: str) -> tuple[str, ...]:
    """Return the lines of an output that say what went wrong, at most three; its last line where none does."""
    lines = [plain(line, _MAX_LINE).strip("\u2502\u2503 ") for line in _lines(output)]
    lines = [line for line in lines if line and not line.startswith("Exit code ")]
    telling = list(dict.fromkeys(line for line in lines if pattern_of("telling").search(line)))
    return tuple(telling[:_MOST_LINES] or lines[-1:])


def _lines(output: str) -> Iterable[str]:
    return output.replace("\\n", "\n").splitlines()[:400]
