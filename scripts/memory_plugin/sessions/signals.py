"""Detect the signals of a session, which are counted in its transcript without a judge."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Any, NamedTuple

from ..host import EDITORS
from ..kernel.paths import load_data
from ..kernel.text import cut_before
from ..kernel.transcript.reader import Reader, open_transcript
from ..kernel.transcript.turn import Call, Totals, Turn
from . import detection

Found = tuple[str, int, str]  # a detection: signal, turn, and what was found
_USER_SAID = "the user said:"  # the client's words before the user's reason for a refusal
_MAX_RESULT = 2000  # characters of a failed call's result that are examined
_MAX_OUTPUT = 50_000
_MAX_PROMPT = 400  # characters of a prompt that are searched for a correction or thanks
_MAX_TEXT = 20_000  # characters of one text that are searched
_MAX_CONTEXT = 40  # characters on each side of a claim


class FailureDetector:
    """Detects failures by cause, and repetitions of a failed command with no edit in between."""

    def __init__(self) -> None:
        self._failed_commands: set[str] = set()

    def observe(self, turn: Turn) -> Iterator[Found]:
        """Observe the next turn."""
        # Retries first: the results of this turn tell which commands have failed after it.
        for call in turn.calls:
            if call.command in self._failed_commands:
                yield "retries", turn.number, call.command
        for call in (*turn.calls, *turn.late):
            cause = detection.failure_cause(call, turn.version)
            if cause:
                yield cause, call.turn, "%s: %s" % (call.name, _reason(call))
            self._record_result(call, cause)
        for entry in turn.user_texts:
            if entry.kind == "interrupt":
                yield "interrupts", turn.number, ""

    def _record_result(self, call: Call, cause: str) -> None:
        if call.result is not None and call.name in EDITORS and not call.failed:
            self._failed_commands.clear()
        if call.command and cause == detection.OWN_ERROR:
            self._failed_commands.add(call.command)
        elif call.result is not None and not cause:
            self._failed_commands.discard(call.command)


def _reason(call: Call) -> str:
    """Return the call's main argument and the line of its result that explains the failure best."""
    argument = " ".join(detection.main_argument(call).split())
    argument = argument[: cut_before(argument, 60)]
    text = call.result or ""
    text = text.partition(_USER_SAID)[2][:_MAX_RESULT] or text[:_MAX_RESULT]
    lines = text.replace("<tool_use_error>", "").replace("</tool_use_error>", "").split("\n")
    lines = [line.strip() for line in lines]
    lines = [line for line in lines if line and not detection.pattern("exit_code").fullmatch(line)]
    first = lines[0] if lines else ""
    explanation = next((line for line in lines if detection.pattern("error_line").search(line)), first)
    explanation = explanation[: cut_before(explanation, 80 if argument else 120)]
    return "%s -> %s" % (argument, explanation) if argument else explanation


class FileDetector:
    """Detects reads of a part of a file, repeated reads, edits of unread files, and files that were read but never used."""

    def __init__(self) -> None:
        self._ranges: dict[str, set[tuple[str, str]]] = {}  # by path, while they are in the context
        self._seen_files: set[str] = set()
        self._last_read: dict[str, int] = {}  # path -> turn
        self._last_mention: dict[str, int] = {}  # file name -> turn

    def observe(self, turn: Turn) -> Iterator[Found]:
        """Observe the next turn."""
        if any(entry.kind == "summary" for entry in turn.user_texts):
            self._ranges.clear()  # compaction removed them from the context
        for text in turn.texts:
            self._record_mentions(text, turn.number)
        for call in turn.calls:
            yield from self._observe_call(call, turn.number)
            self._record_file(call)
        for call in turn.late:
            self._record_file(call)

    def _observe_call(self, call: Call, turn: int) -> Iterator[Found]:
        path = _path(call)
        if call.name == "Read" and path:
            span = _span(call)
            if span != ("None", "None"):
                yield "reads_targeted", turn, path
            if span in self._ranges.get(path, ()):
                yield "rereads", turn, path
        elif call.name in EDITORS and path:
            if call.name in ("Edit", "MultiEdit") and path not in self._seen_files and not call.failed:
                yield "edits_unread", turn, path
            self._record_mentions(path, turn)
        else:
            self._record_mentions(call.text("command") or call.text("path") or call.text("prompt"), turn)

    def _record_file(self, call: Call) -> None:
        """Record the file of a call that succeeded."""
        path = _path(call)
        if not path or call.result is None or call.failed:
            return
        if call.name == "Read":
            self._ranges.setdefault(path, set()).add(_span(call))
            self._last_read[path] = call.turn
        elif call.name in EDITORS:
            self._ranges.pop(path, None)
        self._seen_files.add(path)

    def _record_mentions(self, text: str, turn: int) -> None:
        """Record the turn of each file name in a text."""
        if "." in text:
            names = detection.pattern("file_name").findall(text[:_MAX_TEXT])
            self._last_mention.update(dict.fromkeys(names, turn))

    def unused(self) -> Iterator[Found]:
        """Yield the files that were read and never mentioned again, after the last turn."""
        for path, turn in self._last_read.items():
            name = path.replace("\\", "/").rpartition("/")[2]
            if self._last_mention.get(name, 0) <= turn and detection.pattern("file_name").fullmatch(name):
                yield "reads_unused", turn, path


def _path(call: Call) -> str:
    return "" if call.command else call.text("file_path") or call.text("notebook_path")


def _span(call: Call) -> tuple[str, str]:
    """Return offset and limit of a read, as texts."""
    return str(call.input.get("offset")), str(call.input.get("limit"))


def call_signals(turn: Turn) -> Iterator[Found]:
    """Detect test runs, commits, shell commands that a tool could replace, plans, skills, sub-agents, parallel calls and compactions."""
    for call in turn.calls:
        signal = load_data("sessions", "commands")["signals"].get(call.name)
        if signal:
            yield signal, turn.number, detection.main_argument(call) or call.name
        if call.command:
            for name, what in _command_signals(call, turn.version):
                yield name, turn.number, what
    if len(turn.calls) > 1:
        yield "parallel", turn.number, ", ".join(call.name for call in turn.calls[:10])
    if any(entry.kind == "summary" for entry in turn.user_texts):
        yield "compactions", turn.number, ""


def _command_signals(call: Call, version: str) -> Iterator[tuple[str, str]]:
    command, heads = call.command, detection.pipeline_heads(call.command)
    output = detection.pattern("color").sub("", (call.result or "")[-_MAX_OUTPUT:])
    outcome = _tests_outcome(call, heads, output, version)
    if outcome:  # a test runner reports its result in the last line
        last_line = output.rstrip().rpartition("\n")[2].strip() or "nothing"
        what = command[: cut_before(command, 100)].rstrip()
        yield "tests_" + outcome, "%s -> %s" % (what, last_line)
    if any(_is_commit(head) for head in heads) and not call.failed:
        if detection.pattern("commit_made").search(output):
            yield "commits", output.partition("\n")[0]
        else:
            yield "commits_unconfirmed", command
    for head in heads:
        if tool := detection.tool_for(head)[1]:
            yield "shell_for_tools", "%s: %s" % (tool, " ".join(head.words))


def _is_commit(head: detection.Head) -> bool:
    if head.words[0] != "git" or "--dry-run" in head.words:
        return False
    return "commit" in [word for word in head.words[1:] if not word.startswith("-")][:2]


def _tests_outcome(call: Call, heads: list[detection.Head], output: str, version: str) -> str:
    """Return how a test run ended: passed, failed or unknown; empty for a call that ran no tests.

    A summary of failures always means failed. A hidden exit code (by a pipe, `|| true`) means passed only with a summary of tests that
    passed. A run that skipped all tests is unknown, and so is one in the background.
    """
    runs = [head for head in heads if detection.runs_tests(head)]
    if not runs or detection.failure_cause(call, version) not in ("", detection.OWN_ERROR):
        return ""
    if detection.pattern("tests_failed").search(output):
        return "failed"
    if call.failed:
        return "unknown" if detection.pattern("tests_not_started").search(output) else "failed"
    in_background = call.input.get("run_in_background") is True or (
        isinstance(call.details, dict) and call.details.get("backgroundTaskId")
    )
    if call.result is None or in_background:
        return "unknown"
    is_hidden = any(head.hidden for head in runs)
    if detection.pattern("tests_passed").search(output):
        is_filtered = is_hidden and detection.pattern("tests_filtered").search(call.text("command"))
        return "unknown" if is_filtered else "passed"
    return "unknown" if is_hidden or detection.pattern("tests_empty").search(output) else "passed"


class PeopleDetector:
    """Detects corrections and thanks by the user, and claims of completion, emoji and broken links in replies.

    `totals` are those of the turns so far, whose folder the links are relative to.
    """

    def __init__(self, totals: Totals) -> None:
        self._totals = totals
        self._has_prompt = False

    def observe(self, turn: Turn) -> Iterator[Found]:
        """Observe the next turn."""
        for text in (entry.text[:_MAX_PROMPT] for entry in turn.user_texts if entry.kind == "prompt"):
            if self._has_prompt and _is_correction(text):
                yield "corrections", turn.number, text
            elif self._has_prompt and detection.pattern("thanks").search(text):
                yield "thanks", turn.number, text
            self._has_prompt = True
        for text in turn.texts:
            for name, what in self._reply_signals(text[:_MAX_TEXT]):
                yield name, turn.number, what

    def _reply_signals(self, text: str) -> Iterator[tuple[str, str]]:
        claim = detection.pattern("completion").search(text)
        if claim:
            start = max(0, claim.start() - _MAX_CONTEXT)
            yield "completions", text[start : claim.end() + _MAX_CONTEXT]
        if detection.pattern("emoji").search(text):
            yield "emoji", ""
        if "](" in text and os.path.isdir(self._totals.folder):
            for target in detection.pattern("file_link").findall(text):
                if not os.path.lexists(os.path.join(self._totals.folder, target)):
                    yield "broken_links", target


def _is_correction(text: str) -> bool:
    """Return whether a prompt is a correction, perhaps after polite words ("thanks, but no, that's wrong")."""
    if detection.pattern("correction").match(text):
        return True
    polite = detection.pattern("turned").search(text)
    return polite is not None and detection.pattern("correction").match(text[polite.end() :]) is not None


class SessionSignals(NamedTuple):
    """The signals of one session by name, its totals, and its calls by tool."""

    signals: dict[str, detection.Signal]
    totals: Totals
    tools: Counter[str]

    @property
    def found(self) -> list[detection.Signal]:
        """Return the signals that were detected, in the order of the report."""
        return [signal for signal in self.signals.values() if signal.count]


def collect_signals(path: str, on_turn: Callable[[Turn], None] | None = None) -> SessionSignals:
    """Read a transcript and return its signals; `on_turn` is called with every turn.

    Raises FileNotFoundError and Unreadable, but nothing for the file's content.
    """
    signals = {entry["id"]: detection.Signal(entry) for entry in load_data("sessions", "signals")["signals"]}
    tools: Counter[str] = Counter()
    failures, files = FailureDetector(), FileDetector()
    with open_transcript(path) as file:
        reader = Reader(file)
        people = PeopleDetector(reader.totals)
        for turn in reader:
            detectors = (failures.observe, files.observe, call_signals, people.observe)
            _count(signals, chain.from_iterable(detect(turn) for detect in detectors))
            tools.update(call.name for call in turn.calls)
            if on_turn is not None:
                on_turn(turn)
    _count(signals, files.unused())
    return SessionSignals(signals, reader.totals, tools)


def _count(signals: dict[str, detection.Signal], found: Iterable[Found]) -> None:
    for name, turn, what in found:
        signals[name].add(turn, what)


def signals_record(session: SessionSignals) -> dict[str, Any]:
    """Return the signals as JSON: counts, turns, totals."""
    totals = session.totals
    return {
        "session": totals.session,
        "started": totals.started,
        "ended": totals.ended,
        "models": totals.models,
        "turns": totals.turns,
        "unreadable_records": totals.bad,
        "calls": sum(session.tools.values()),
        "tools": dict(session.tools.most_common()),
        "tokens": {**totals.usage, "largest_context": totals.context},
        "signals": {
            name: {"count": signal.count, "turns": sorted(signal.turns)}
            for name, signal in session.signals.items()
        },
    }
