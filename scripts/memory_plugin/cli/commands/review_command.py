"""`memory review` decides about pending memories and candidates in groups; `memory capture` finds candidates in past sessions."""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser, Namespace
from collections import Counter
from collections.abc import Collection, Sequence
from contextlib import suppress

from ...capture.candidate import CandidateFile
from ...capture.pipeline import Progress, Reading, capture_files
from ...kernel.files import error_text
from ...kernel.text.clean import counted
from ...memories import InvalidMemory
from ...sessions.session_files import project_transcripts
from ...work import review
from ...work.candidate_check import keep_with_others, may_use, section_watch
from ...work.memory_facts import phrase_lines
from ..command_context import DONE, FAILED, Approval, CommandContext, CommandError, Handler, UsageError
from ..options import add_flag, require_existing

_REVIEW_TEXT = """\
decide about pending memories and suggestions
  memory review                           in a terminal: press one key to accept, reject, edit or skip
  memory review | less                    only lists what is pending
"""
_ACCEPT_ALL, _SKIP, _QUIT = "a", "s", "q"
_END = ""  # the terminal was closed
_END_OF_FILE = "\x04"
_TOGETHER = "  To accept or reject the group:\n    memory accept --group {0}\n    memory reject --group {0}"
_ALONE = "  One by one: memory accept ID, or memory reject ID"
_GROUP = "[a] accept %d, [n] reject, [o] one by one, [l] in full, [s] skip, [q] quit: "
_DIFFERENCES = {"+ ": "green", "- ": "red"}


def _review(arguments: Namespace, context: CommandContext) -> None:
    """Ask about each group in a terminal; otherwise only list the groups."""
    with context.console.working("review"):
        groups = review.grouped(review.review_entries(context))
    context.console.result({"groups": list(map(_as_json, groups))})
    if not groups:
        context.console.line("Nothing is pending.")
    elif context.inside_client or not context.console.can_prompt():
        _print(groups, context)
    else:
        _walk(groups, context)


def _walk(groups: list[review.Group], context: CommandContext) -> None:
    number = sum(len(group.entries) for group in groups)
    context.console.line("%s in %s" % (counted(number, "entry"), counted(len(groups), "group")))
    run = _Review(context)
    try:
        run.walk(groups)
    finally:
        if run.done:
            with context.console.working("refreshing the index"):
                context.refresh_index()
    past = {"accept": "accepted", "reject": "rejected", "edit": "edited"}
    counts = ["%s %d" % (past[name], count) for name, count in run.done.items()]
    counts.append("%d still pending" % (number - sum(run.done.values())))
    context.console.lines("", ", ".join(counts), *(phrase_lines(context) if run.done["accept"] else []))


def _print(groups: list[review.Group], context: CommandContext) -> None:
    for group in groups:
        lines = ["group %s: %s, %s" % (group.id, _counted(group), group.title)]
        for entry in group.entries:
            lines += ["", "  %s  %s" % (entry.id, entry.title)]
            lines += [("    " + line).rstrip() for line in entry.lines]
        lines += ["", *([_TOGETHER.format(group.id)] if group.together else [])]
        lines += [_ALONE] if len(group.together) < len(group.entries) else []
        context.console.lines(*lines, "")


def _counted(group: review.Group) -> str:
    return counted(len(group.entries), "suggestion" if group.kind == review.CANDIDATE else group.kind)


def _as_json(group: review.Group) -> dict[str, object]:
    entries = [
        {**{name: getattr(entry, name) for name in ("id", "kind", "title", "alone")},
         "actions": [action.name for action in entry.actions], **entry.facts}
        for entry in group.entries
    ]  # fmt: skip
    return {"id": group.id, "kind": group.kind, "title": group.title, "entries": entries}


class _Stopped(Exception):
    """The user quit or closed the terminal."""


class _Review:
    """One pass through the groups. Every decision is stored before the next question."""

    def __init__(self, context: CommandContext) -> None:
        self.done: Counter[str] = Counter()
        self._context = context
        self._console = context.console

    def walk(self, groups: Sequence[review.Group]) -> None:
        """Go through the groups until all are decided or the user quits."""
        with suppress(_Stopped):
            for number, group in enumerate(groups, 1):
                heading = "group %d of %d: %s, %s" % (number, len(groups), _counted(group), group.title)
                self._console.lines("", self._console.style(heading, "bold"))
                if len(group.together) > 1:
                    self._decide_group(group)
                else:
                    self._one_by_one(group.entries)

    def _decide_group(self, group: review.Group) -> None:
        """Show the beginning of each text, so that nothing is accepted unseen, and ask about the group."""
        for entry in group.entries:
            note = " (%s)" % entry.note if entry.note else ""
            self._console.line("  %s  %s%s" % (entry.id, entry.title, note))
            if entry.first_line != entry.title[: len(entry.first_line)]:
                self._console.line("      " + entry.first_line)
        question = _GROUP % len(group.together)
        while (key := _read_key(question, "anols")) == "l":
            for entry in group.entries:
                self._show(entry)
        if key in (_ACCEPT_ALL, review.REJECT.key):
            self._apply(review.ACCEPT if key == _ACCEPT_ALL else review.REJECT, group.together)
        elif key == "o":
            self._one_by_one(group.entries)

    def _one_by_one(self, entries: Sequence[review.ReviewEntry]) -> None:
        for at, entry in enumerate(entries):
            self._show(entry)
            rest = [] if entry.alone else [other for other in entries[at:] if not other.alone]
            if self._decide(entry, len(rest)) == _ACCEPT_ALL:
                self._apply(review.ACCEPT, rest)
                self._one_by_one([other for other in entries[at:] if other.alone])
                return

    def _show(self, entry: review.ReviewEntry) -> None:
        style = self._console.style
        self._console.lines("", style("%s  %s" % (entry.id, entry.title), "bold"))
        for line in entry.lines:
            color = _DIFFERENCES.get(line[2:4])
            self._console.line("  " + (style(line, color) if color else line))

    def _decide(self, entry: review.ReviewEntry, rest: int) -> str:
        """Ask about an entry until it is decided or skipped; return the key."""
        actions = {action.key: action for action in entry.actions}
        words = ["[%s] %s" % (action.key, action.name) for action in entry.actions] + ["[s] skip"]
        words += ["[a] accept all %d" % rest] if rest > 1 else []
        keys = [*actions, _SKIP, *([_ACCEPT_ALL] if rest > 1 else [])]
        while True:
            key = _read_key(", ".join([*words, "[q] quit: "]), keys)
            if key not in actions or self._apply(actions[key], [entry]):
                return key

    def _apply(self, action: review.Action, entries: Sequence[review.ReviewEntry]) -> bool:
        """Carry out a decision and return whether the entries are now decided."""
        try:
            lines = review.apply(action, entries, self._context)
        except (InvalidMemory, OSError) as error:
            self._console.line("  not done: " + error_text(error))
            return False
        is_decided = lines is not None
        shown = ["nothing changed; it is still pending"] if lines is None else lines
        self._console.lines(*("  " + line for line in shown))
        self.done[action.name] += len(entries) * is_decided
        return is_decided


def _read_key(question: str, keys: Collection[str]) -> str:
    """Ask until one of the keys is pressed, and return it. Raises _Stopped for `q`, and if the terminal was closed.

    Input typed before the question is discarded, so that no key press answers a question the user has not seen.
    """
    while True:
        sys.stdout.write(question)
        sys.stdout.flush()
        typed = _next_key()
        sys.stdout.write(typed + "\n")
        if typed in (_QUIT, _END):
            raise _Stopped
        if typed in keys:
            return typed


def _next_key() -> str:
    try:
        import termios
        import tty
    except ImportError:  # Windows: a line
        line = sys.stdin.readline()
        return (line.strip().lower()[:1] or "?") if line else _END
    handle = sys.stdin.fileno()
    before = termios.tcgetattr(handle)
    try:
        tty.setcbreak(handle)  # discards pending input
        typed = os.read(handle, 16).decode("utf-8", "replace")
    finally:
        termios.tcsetattr(handle, termios.TCSADRAIN, before)
    if typed[:1] in ("", _END_OF_FILE):
        return _END
    # Arrows and several keys at once come as more than one character.
    return typed.lower() if typed.isalnum() and len(typed) == 1 else "?"


_CAPTURE_TEXT = """\
find what may be worth keeping in past sessions
  memory capture --project                all sessions of this project; run it again after memory review for more
  memory capture session.jsonl other.jsonl
  memory review                           shows what was found
  memory capture clear                    delete all suggestions and the record of rejected ones
"""
_NOTE_DAYS = 30.0
_NO_SESSIONS = "No past sessions of this project found (Claude Code deletes transcripts after 30 days). To read others: memory capture FILE"
_NOTHING = "name transcripts, or use --project; to see what was found: memory review"
_OFF = "capture.mode is off; to turn it on: %s"
_CLEAR = "clear"


def _configure_capture(parser: ArgumentParser) -> None:
    parser.add_argument("files", nargs="*", metavar="FILE", help="transcripts; clear deletes all suggestions")
    add_flag(parser, "--project", "the transcripts of this project's sessions")


def _capture_approval(arguments: Namespace, context: CommandContext) -> Approval | None:
    """Return that all candidates are deleted; None for reading sessions."""
    return Approval("delete all suggestions?") if arguments.files[:1] == [_CLEAR] else None


def _capture(arguments: Namespace, context: CommandContext) -> int:
    """Look through past sessions, or delete all suggestions."""
    if arguments.files[:1] == [_CLEAR]:
        if arguments.project or len(arguments.files) > 1:
            raise UsageError("memory capture clear takes no files")
        with CandidateFile(context.paths).change() as candidates:
            number = candidates.clear()
        context.console.result({"forgotten": number}, "deleted: %s" % counted(number, "suggestion"))
        return DONE
    if not (arguments.files or arguments.project):
        raise UsageError(_NOTHING)
    if context.settings.text("capture.mode") == "off":
        raise CommandError(_OFF % context.settings.to_set("capture.mode", "review"))
    require_existing(*arguments.files)
    newest_first = reversed(project_transcripts(context.paths)) if arguments.project else ()
    return _read_sessions(list(dict.fromkeys([*arguments.files, *newest_first])), context)


def _read_sessions(paths: list[str], context: CommandContext) -> int:
    """Save the candidates of transcripts, and print what was read and found."""
    file = CandidateFile(context.paths)
    before = {candidate.id for candidate in file.load().open}
    progress, reading = Progress(0, 0, 0, 0), Reading(may_use, section_watch(context))
    for progress in capture_files(paths, reading, context):
        numbers = (progress.read + progress.unreadable, len(paths), progress.size >> 20, progress.found)
        context.console.progress("%d of %d files, %d MB, %d found" % numbers)
    context.console.progress("")
    keep_with_others([], reading.watch, _NOTE_DAYS, context)
    candidates = file.load().open
    new = [candidate.id for candidate in candidates if candidate.id not in before]
    line = "read %s (%d MB)" % (counted(progress.read, "transcript"), progress.size >> 20)
    line += ", %d unreadable" % progress.unreadable if progress.unreadable else ""
    lines = [line] if paths else [_NO_SESSIONS]
    if paths or candidates:
        lines.append("%s, %d open" % (counted(len(new), "new suggestion"), len(candidates)))
    if candidates:
        lines.append("to save or reject them: memory review, or /memory:review in Claude Code")
    context.console.result({**progress._asdict(), "new": new, "open": len(candidates)}, *lines)
    return FAILED if progress.unreadable else DONE


HANDLERS = {
    "review": Handler(_REVIEW_TEXT, _review),
    "capture": Handler(_CAPTURE_TEXT, _capture, _configure_capture, _capture_approval),
}
