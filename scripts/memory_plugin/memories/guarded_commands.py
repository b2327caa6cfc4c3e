"""Decide whether a shell command line runs a guarded command.

One of its simple commands, with or without prefixes such as `sudo`, must begin with the first word of the guard (base names are compared)
and have the other words as whole arguments, in the same order.
"""

from __future__ import annotations

from .command_prefixes import base_name, run_commands
from .shell_commands import shell_commands

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

# A longer command line is a program; checking the rest would only use up the call's time.
_MAX_COMMANDS = 20_000


def guard_words(pattern: str) -> list[str]:
    """Return the words of a guard's command, the first as a base name; empty unless it is one simple command."""
    commands = shell_commands("run " + pattern)
    if len(commands) != 1 or commands[0].redirections or len(commands[0].words) < 2:
        return []
    program, *arguments = commands[0].words[1:]
    return [base_name(program), *arguments] if base_name(program) else []


def run_by(text: str, guards: Sequence[Sequence[str]]) -> set[int]:
    """Return the indices of those `guards` (each a list of words) that a command line runs."""
    by_name: dict[str, list[int]] = {}
    for at, words in enumerate(guards):
        by_name.setdefault(words[0], []).append(at)
    matches: set[int] = set()
    for count, command in enumerate(run_commands(text)):
        if count >= _MAX_COMMANDS:
            break
        for at in by_name.get(base_name(command[0]), ()):
            if at not in matches and _has_arguments(command, guards[at]):
                matches.add(at)
    return matches


def _has_arguments(command: list[str], words: Sequence[str]) -> bool:
    """Return whether the arguments of a command contain the words after the first, in order."""
    arguments = iter(command[1:])  # consumed by `in`, which keeps the order
    return all(word in arguments for word in words[1:])
