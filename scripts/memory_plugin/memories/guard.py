"""The guard of a memory, which enforces a constraint by reminding Claude or asking the user before a tool call.

In a memory's file it is the top-level key `guard`: `{"files": [...], "commands": [...], "action": "remind"}`.
"""

from __future__ import annotations

from typing import NamedTuple

from .guarded_commands import guard_words
from .guarded_files import pattern_problem

REMIND, ASK = "remind", "ask"
ACTIONS = (REMIND, ASK)
# Their number and length are limited because each command and pattern is compared with each tool call that may match.
MAX_PATTERNS = 32
MAX_PATTERN_LENGTH = 200
_LISTS = ("files", "commands")
_KEYS = (*_LISTS, "action")


class InvalidGuard(ValueError):
    """Raised for a guard that cannot be enforced; the text names the key, the expected value, the one found, and the fix."""


class Guard(NamedTuple):
    """File patterns, command prefixes, and the action at a match: `remind` or `ask`."""

    files: tuple[str, ...]
    commands: tuple[str, ...]
    action: str


def parse_guard(value: object) -> Guard | None:
    """Return the guard that a memory's file holds; None if it has none. Raises InvalidGuard."""
    if value is None:
        return None
    if not isinstance(value, dict):
        raise InvalidGuard(
            'guard: expected an object such as {"commands": ["git push --force"]}, got %s; fix it, or remove the key'
            % type(value).__name__
        )
    unknown = sorted(str(key) for key in value if key not in _KEYS)
    if unknown:
        raise InvalidGuard("guard.%.40s: expected one of %s; remove it" % (unknown[0], ", ".join(_KEYS)))
    files, commands = (_patterns(value.get(name), name) for name in _LISTS)
    _check_files(files)
    _check_commands(commands)
    if not files and not commands:
        raise InvalidGuard("guard: expected files or commands, got neither; add one, or remove the key")
    return Guard(files, commands, _action(value.get("action")))


def _patterns(value: object, name: str) -> tuple[str, ...]:
    if value is None:
        return ()
    if not isinstance(value, list):
        raise InvalidGuard(
            "guard.%s: expected a list of texts, got %s; put the text into [ ]" % (name, type(value).__name__)
        )
    if len(value) > MAX_PATTERNS:
        raise InvalidGuard(
            "guard.%s: expected at most %d entries, got %d; divide them among several memories"
            % (name, MAX_PATTERNS, len(value))
        )
    return tuple(_pattern(item, "guard.%s[%d]" % (name, at)) for at, item in enumerate(value))


def _check_files(files: tuple[str, ...]) -> None:
    for at, pattern in enumerate(files):
        problem = pattern_problem(pattern)
        if problem:
            raise InvalidGuard(
                "guard.files[%d]: expected a pattern as in .gitignore, from the worktree's root, got %.60r; %s"
                % (at, pattern, problem)
            )


def _check_commands(commands: tuple[str, ...]) -> None:
    for at, command in enumerate(commands):
        if not guard_words(command):
            raise InvalidGuard(
                "guard.commands[%d]: expected the beginning of one command, such as `git push --force`, got %.60r;"
                " leave out operators, redirections, assignments and substitutions" % (at, command)
            )


def _pattern(item: object, where: str) -> str:
    if not isinstance(item, str) or not item.strip():
        raise InvalidGuard("%s: expected a text, got %.40r; fix it, or remove it" % (where, item))
    if len(item) > MAX_PATTERN_LENGTH:
        raise InvalidGuard(
            "%s: expected at most %d characters, got %d; shorten it" % (where, MAX_PATTERN_LENGTH, len(item))
        )
    if not item.isprintable():
        raise InvalidGuard("%s: expected one line of visible characters, got %.60r; fix it" % (where, item))
    return item.strip()


def _action(value: object) -> str:
    if value is None:
        return REMIND
    if value not in ACTIONS:
        raise InvalidGuard(
            "guard.action: expected one of %s, got %.40r; use one of them, or remove the key"
            % (", ".join(ACTIONS), value)
        )
    return str(value)


def guard_json(guard: Guard) -> dict[str, object]:
    """Return a guard as a memory's file holds it; `parse_guard` reads it back."""
    lists = {name: list(getattr(guard, name)) for name in _LISTS}
    return {**{name: items for name, items in lists.items() if items}, "action": guard.action}


def guard_in_words(guard: Guard) -> str:
    """Return a sentence that explains what a guard does and when."""
    conditions = []
    if guard.commands:
        conditions.append("runs " + _either(guard.commands))
    if guard.files:
        conditions.append("changes " + _either(guard.files))
    if guard.action == ASK:
        return "the client asks you whenever Claude %s" % " or ".join(conditions)
    return (
        "the first time in a session that Claude %s, the call is held back with this memory as the reason"
        % " or ".join(conditions)
    )


def _either(items: tuple[str, ...]) -> str:
    quoted = ["`%s`" % item for item in items]
    return " or ".join(filter(None, [", ".join(quoted[:-1]), quoted[-1]]))
