"""The guard of a memory, which enforces a constraint by reminding Claude or asking the user before a tool call.

In a memory's file it is the top-level key `guard`: `{"files": [...], "commands": [...], "action": "remind"}`.
"""

from __future__ import annotations

from typing import NamedTuple

from ..host import EDITORS
from . import InvalidMemory
from .guard_file import COMMAND_TOOLS, pattern_problem

REMIND, ASK = "remind", "ask"
ACTIONS = (REMIND, ASK)
# Their number and length are limited because each command and pattern is compared with each tool call that may match.
MAX_PATTERNS = 32
MAX_PATTERN_LENGTH = 200
_LISTS = ("files", "commands")
_TOOLS = {"commands": COMMAND_TOOLS, "files": tuple(EDITORS)}
_KEYS = (*_LISTS, "action")
_NO_COMMAND = "%s: expected the start of one command, such as `git push --force`, got %.60r; %s"
_NO_OBJECT = 'guard: expected an object such as {"commands": ["git push --force"]}, got %s; fix or remove it'
_NO_FILES = "%s: expected a pattern as in .gitignore, from the worktree's root, got %.60r; %s"


class InvalidGuard(InvalidMemory):
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
        raise InvalidGuard(_NO_OBJECT % type(value).__name__)
    unknown = sorted(str(key) for key in value if key not in _KEYS)
    if unknown:
        raise InvalidGuard("guard.%.40s: expected one of %s; remove it" % (unknown[0], ", ".join(_KEYS)))
    files, commands = (_patterns(value.get(name), name) for name in _LISTS)
    if not files and not commands:
        raise InvalidGuard("guard: expected files or commands, got neither; add one, or remove the key")
    action = value.get("action") or REMIND
    if action not in ACTIONS:
        raise InvalidGuard("guard.action: expected one of %s, got %.40r" % (", ".join(ACTIONS), action))
    return Guard(files, commands, action)


def _patterns(value: object, name: str) -> tuple[str, ...]:
    if value is None:
        return ()
    if not isinstance(value, list) or len(value) > MAX_PATTERNS:
        found = "%d entries" % len(value) if isinstance(value, list) else type(value).__name__
        text = "guard.%s: expected a list of at most %d texts, got %s"
        raise InvalidGuard(text % (name, MAX_PATTERNS, found))
    return tuple(_pattern(item, name, "guard.%s[%d]" % (name, at)) for at, item in enumerate(value))


def _pattern(item: object, name: str, where: str) -> str:
    text = item.strip() if isinstance(item, str) and item.isprintable() else ""
    text = plain_rule(text, name)
    if not 0 < len(text) <= MAX_PATTERN_LENGTH:
        expected = "one line of 1 to %d visible characters" % MAX_PATTERN_LENGTH
        raise InvalidGuard("%s: expected %s, got %.40r; fix it, or remove it" % (where, expected, item))
    if name == "commands":
        from .guarded_commands import command_problem  # compiles many patterns; few memories have a guard

        problem = command_problem(text)
    else:
        text = text[1:] if text.startswith("./") else text
        problem = pattern_problem(text)
    if problem:
        raise InvalidGuard((_NO_COMMAND if name == "commands" else _NO_FILES) % (where, text, problem))
    return text


def plain_rule(text: str, name: str) -> str:
    """Return what a permission rule of the client covers, as in `Bash(npm install:*)` or `Edit(gen/**)`; other texts unchanged."""
    tool, is_rule, inner = text.partition("(")
    if is_rule and inner.endswith(")") and tool in _TOOLS[name]:
        text = inner[:-1].strip()
    return text.removesuffix(":*").removesuffix(" *").rstrip() if name == "commands" else text


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
        from_root = tuple("." * name.startswith("/") + name for name in guard.files)
        conditions.append("changes " + _either(from_root))
    if guard.action == ASK:
        return "Claude Code asks you each time Claude %s" % " or ".join(conditions)
    text = "blocks the first call in each session that %s, and shows Claude this memory; a second try goes through"
    return text % " or ".join(conditions)


def _either(items: tuple[str, ...]) -> str:
    quoted = ["`%s`" % item for item in items]
    return " or ".join(filter(None, [", ".join(quoted[:-1]), quoted[-1]]))
