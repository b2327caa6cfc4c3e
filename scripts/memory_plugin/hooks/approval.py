"""Ask the user about a command of ours that needs approval, in the client's own permission dialog.

Only a line that is nothing but such a command is asked about. The hook appends the number of a one-time ticket to it, so the command runs
as the dialog shows it or refuses to run. Where nobody can be asked, the client does not run it.
"""

from __future__ import annotations

import os
import re
import sys

from ..host.commands import TABLE
from ..host.environment import HANDED_OVER
from ..host.events import id_field, path_field
from ..kernel.fastjson import loads
from ..kernel.files import read_regular
from ..memories.grants import OPTION, issue_ticket

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..kernel.paths import Paths

# Words without expansions: bare, in single quotes, or in double quotes.
_WORD = r"""(?:[\w@%+=:,./-]|'[^']*'|"[^"$`\\!]*")+"""
_LINE = re.compile(r"%s(?: +%s)*" % (_WORD, _WORD))
_QUOTED = re.compile(r"""'([^']*)'|"([^"]*)"|([^'"]+)""")
_SECONDS = 4.0  # hooks.json ends the hook after 5
# In print mode, Claude is told only this. Measured with 2.1.197 and 2.1.330: every permission mode asks, and print mode refuses.
_ASKS = "memory: Claude wants to %s. Where no dialog can be shown, run the command in a terminal"
_SETTINGS = ("settings.json", "settings.local.json")
_MAX_BYTES = 4 << 20


def ask(payload: dict[str, object], paths: Paths) -> dict[str, object] | None:
    """Return the output that makes the client ask about a command; None for a command that needs no approval."""
    call = payload.get("tool_input")
    line = call.get("command") if isinstance(call, dict) else None
    words = command_words(line) if isinstance(line, str) else []
    session = id_field(payload.get("session_id"))
    if not words or not _may_ask(words[0]) or not session or _project_answers(paths.project_root):
        return None
    needed = _describe(words, path_field(payload.get("cwd")))
    if not needed:
        return None
    number = issue_ticket(paths, session, words, needed["project"], needed["texts"])
    assert isinstance(call, dict)
    return {
        "hookSpecificOutput": {
            "hookEventName": "PreToolUse",
            "permissionDecision": "ask",
            "permissionDecisionReason": _ASKS % needed["action"],
            "updatedInput": {**call, "command": "%s %s %s" % (str(line).strip(), OPTION, number)},
        }
    }


def _may_ask(noun: str) -> bool:
    """Return whether a command with this first word may need approval; its arguments decide."""
    return any(command.asks for command in TABLE if command.noun == noun)


def _project_answers(root: str) -> bool:
    """Return whether the project's settings may hold a hook that answers the client's dialogs in the user's place."""
    for name in _SETTINGS:
        try:
            data = read_regular(os.path.join(root, ".claude", name), _MAX_BYTES)[0]
        except FileNotFoundError:
            continue
        except OSError:
            return True
        if b"PermissionRequest" in data or b"\\u00" in data:
            return True
    return False


def command_words(line: str) -> list[str]:
    """Return the arguments of a line that is one plain call of `memory`; empty for any other line."""
    line = line.strip()
    if not _LINE.fullmatch(line):
        return []
    words = ["".join(map("".join, _QUOTED.findall(word))) for word in re.findall(_WORD, line)]
    program = os.path.basename(words[0])
    if program in ("python3", "python") and words[1:]:
        program, words = os.path.basename(words[1]), words[1:]
    return words[1:] if program in ("memory", "memory.py") and OPTION not in words else []


def _describe(words: list[str], folder: str) -> dict[str, Any]:
    """Return what the command needs approval for, by its own account; empty for none, or if it cannot tell."""
    from subprocess import DEVNULL, SubprocessError, run

    package = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
    script = os.path.join(os.path.dirname(package), "memory.py")
    # A command that Claude runs has neither.
    environment = {
        name: value for name, value in os.environ.items() if name not in ("CLAUDE_PROJECT_DIR", HANDED_OVER)
    }
    try:
        result = run(
            [sys.executable, "-I", "-S", script, "describe", *words],
            env=environment,
            cwd=folder or None,
            stdin=DEVNULL,
            capture_output=True,
            timeout=_SECONDS,
            check=False,
        )
        needed = loads(result.stdout.decode("utf-8"))
    except (OSError, SubprocessError, ValueError):
        return {}
    return needed if isinstance(needed, dict) else {}
