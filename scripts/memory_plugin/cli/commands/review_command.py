"""`memory review`: review pending memories and candidates in groups."""

from __future__ import annotations

import argparse
import os
import sys
from collections import Counter
from collections.abc import Collection, Sequence

from ...kernel.files import error_text
from ...kernel.text.clean import counted
from ...memories import InvalidMemory
from ...work.review import ACCEPT, REJECT, Action, Group, ReviewEntry, apply, grouped, review_entries
from ..command_context import CommandContext, UsageError
from ..memory_view import phrase_lines

HELP = "decide about pending memories and suggestions"
EXAMPLES = """\
  memory review                           in a terminal: press one key to accept, reject, edit or skip
  memory review | less                    only lists what is pending
  memory review --json
"""
_ACCEPT_ALL, _REJECT_ALL, _ONE_BY_ONE, _LIST, _SKIP, _QUIT = "a", "n", "o", "l", "s", "q"
_END = ""  # the terminal was closed
_END_OF_FILE = "\x04"
_DIFFERENCES = {"+ ": "green", "- ": "red"}


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("--group", metavar="GROUP", default="", help="only this group")


def run(arguments: argparse.Namespace, context: CommandContext) -> None:
    """Ask about each group in a terminal; otherwise only list the groups."""
    with context.console.working("review"):
        groups = grouped(review_entries(context))
    if arguments.group:
        groups = [group for group in groups if group.id == arguments.group]
        if not groups:
            raise UsageError("%s: no group has this id now; to see them: memory review" % arguments.group)
    if arguments.json:
        context.console.json({"groups": list(map(_as_json, groups))})
    elif not groups:
        context.console.line("Nothing is pending.")
    elif context.inside_client or not context.console.can_prompt():
        _print(groups, context)
    else:
        _walk(groups, context)


def _walk(groups: list[Group], context: CommandContext) -> None:
    number = sum(len(group.entries) for group in groups)
    context.console.line("%s in %s" % (counted(number, "entry"), counted(len(groups), "group")))
    review = Review(context)
    try:
        review.walk(groups)
    finally:
        if review.done:
            with context.console.working("refreshing the index"):
                context.refresh_index()
    past = {"accept": "accepted", "reject": "rejected", "edit": "edited"}
    counts = ["%s %d" % (past.get(name, name), count) for name, count in review.done.items()]
    context.console.line()
    left = number - sum(review.done.values())
    context.console.line(", ".join([*counts, "%d still pending" % left]))
    for line in phrase_lines(context) if review.done["accept"] else []:
        context.console.line(line)


def _print(groups: list[Group], context: CommandContext) -> None:
    console = context.console
    for group in groups:
        console.line("group %s: %s, %s" % (group.id, counted(len(group.entries), group.kind), group.title))
        for entry in group.entries:
            console.line()
            console.line("  %s  %s" % (entry.id, entry.title))
            for line in entry.lines:
                console.line(("    " + line).rstrip())
        console.line()
        if group.together:
            console.line(
                "  To accept or reject the group: memory accept --group %s, memory reject --group %s"
                % (group.id, group.id)
            )
        if len(group.together) < len(group.entries):
            console.line("  Entries with a guard are decided one by one: memory accept ID, memory reject ID")
        console.line()


def _as_json(group: Group) -> dict[str, object]:
    entries = [
        {
            "id": entry.id,
            "kind": entry.kind,
            "title": entry.title,
            "alone": entry.alone,
            "actions": [action.name for action in entry.actions],
            **entry.facts,
        }
        for entry in group.entries
    ]
    return {"id": group.id, "kind": group.kind, "title": group.title, "entries": entries}


class _Stopped(Exception):
    """The user quit or closed the terminal."""


class Review:
    """One pass through the groups. Every decision is stored before the next question."""

    def __init__(self, context: CommandContext) -> None:
        self.done: Counter[str] = Counter()
        self._context = context
        self._console = context.console

    def walk(self, groups: Sequence[Group]) -> None:
        """Go through the groups until all are decided or the user quits."""
        try:
            for number, group in enumerate(groups, 1):
                entries = counted(len(group.entries), group.kind)
                heading = "group %d of %d: %s, %s" % (number, len(groups), entries, group.title)
                self._console.line()
                self._console.line(self._console.style(heading, "bold"))
                if len(group.together) > 1:
                    self._decide_group(group)
                else:
                    self._one_by_one(group.entries)
        except _Stopped:
            return

    def _decide_group(self, group: Group) -> None:
        """Show the beginning of each text, so that nothing is accepted unseen, and ask about the group."""
        self._list(group.entries)
        question = "[a] accept %d, [n] reject, [o] one by one, [l] in full, [s] skip, [q] quit: "
        keys = (_ACCEPT_ALL, _REJECT_ALL, _ONE_BY_ONE, _LIST, _SKIP, _QUIT)
        key = self._ask(question % len(group.together), keys)
        while key == _LIST:
            for entry in group.entries:
                self._show(entry)
            key = self._ask(question % len(group.together), keys)
        if key == _ACCEPT_ALL:
            self._apply(ACCEPT, group.together)
        elif key == _REJECT_ALL:
            self._apply(REJECT, group.together)
        elif key == _ONE_BY_ONE:
            self._one_by_one(group.entries)

    def _list(self, entries: Sequence[ReviewEntry]) -> None:
        for entry in entries:
            note = " (%s)" % entry.note if entry.note else ""
            self._console.line("  %s  %s%s" % (entry.id, entry.title, note))
            if entry.first_line != entry.title[: len(entry.first_line)]:
                self._console.line("      " + entry.first_line)

    def _one_by_one(self, entries: Sequence[ReviewEntry]) -> None:
        for at, entry in enumerate(entries):
            self._show(entry)
            rest = [] if entry.alone else [other for other in entries[at:] if not other.alone]
            key = self._decide(entry, len(rest))
            if key == _ACCEPT_ALL:
                self._apply(ACCEPT, rest)
                self._one_by_one([other for other in entries[at:] if other.alone])
                return

    def _show(self, entry: ReviewEntry) -> None:
        console = self._console
        console.line()
        console.line(console.style("%s  %s" % (entry.id, entry.title), "bold"))
        for line in entry.lines:
            color = _DIFFERENCES.get(line[2:4])
            console.line("  " + (console.style(line, color) if color else line))

    def _decide(self, entry: ReviewEntry, rest: int) -> str:
        """Ask about an entry until it is decided or skipped; return the key."""
        actions = {action.key: action for action in entry.actions}
        words = ["[%s] %s" % (action.key, action.name) for action in entry.actions] + ["[s] skip"]
        words += ["[a] accept it and %d more" % (rest - 1)] if rest > 1 else []
        question = ", ".join([*words, "[q] quit: "])
        keys = [*actions, _SKIP, _QUIT, *([_ACCEPT_ALL] if rest > 1 else [])]
        while True:
            key = self._ask(question, keys)
            if key not in actions:
                return key
            if self._apply(actions[key], [entry]):
                return key

    def _ask(self, question: str, keys: Sequence[str]) -> str:
        key = _read_key(question, keys)
        if key in (_QUIT, _END):
            raise _Stopped
        return key

    def _apply(self, action: Action, entries: Sequence[ReviewEntry]) -> bool:
        """Carry out a decision and return whether the entries are now decided."""
        try:
            outcome = apply(action, entries, self._context)
        except (InvalidMemory, OSError) as error:
            self._console.line("  not done: " + error_text(error))
            return False
        for line in outcome.lines:
            self._console.line("  " + line)
        self.done[action.name] += len(entries) * outcome.is_decided
        return outcome.is_decided


def _read_key(question: str, keys: Collection[str]) -> str:
    """Ask until one of the keys is pressed, and return it; _END if the terminal was closed.

    Input typed before the question is discarded, so that no key press answers a question the user has not seen.
    """
    typed = "?"
    while typed not in keys and typed != _END:
        sys.stdout.write(question)
        sys.stdout.flush()
        typed = _next_key()
        sys.stdout.write(typed + "\n")
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
