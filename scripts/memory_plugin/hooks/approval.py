"""Ask the user about a command of ours that needs approval, in the client's own permission dialog.

Only a line that is nothing but such a command of our own program is asked about. The hook appends the number of a one-time ticket to
it, so the command runs as the dialog shows it or refuses to run. Where nobody can be asked, the client does not run it.
"""

from __future__ import annotations

import os
import re
import sys

from ..host.commands import TABLE
from ..host.environment import HANDED_OVER
from ..host.events import id_field, path_field
from ..kernel.fastjson import loads
from ..memories.tickets import OPTION, issue_ticket

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
_ASKS = "memory: %s (No dialog, as in `claude -p`: run this in a terminal.)"
_ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__)))))
_SCRIPT = os.path.join(_ROOT, "scripts", "memory.py")


def ask(payload: dict[str, object], paths: Paths) -> dict[str, object] | None:
    """Return the output that makes the client ask about a command; None for a command that needs no approval."""
    call = payload.get("tool_input")
    line = call.get("command") if isinstance(call, dict) else None
    folder = path_field(payload.get("cwd"))
    words = command_words(line, folder) if isinstance(line, str) else []
    session = id_field(payload.get("session_id"))
    if not words or not _may_ask(words[0]) or not session:
        return None
    needed = _describe(words, folder)
    if not needed:
        return None
    number = issue_ticket(
        paths,
        session,
        words,
        needed["project"],
        needed["texts"],
        call=id_field(payload.get("tool_use_id")),
        transcript=path_field(payload.get("transcript_path")),
    )
    assert isinstance(call, dict)
    return {
        "hookSpecificOutput": {
            "hookEventName": "PreToolUse",
            "permissionDecision": "ask",
            "permissionDecisionReason": _ASKS % needed["question"],
            "updatedInput": {**call, "command": "%s %s %s" % (str(line).strip(), OPTION, number)},
        }
    }


def _may_ask(noun: str) -> bool:
    """Return whether a command with this first word may need approval; its arguments decide."""
    return any(command.asks for command in TABLE if command.noun == noun)


def command_words(line: str, folder: str = "") -> list[str]:
    """Return the arguments of a line that is one plain call of our own `memory`; empty for any other line or program.

    A relative path starts at `folder`.
    """
    line = line.strip()
    if not _LINE.fullmatch(line):
        return []
    words = ["".join(map("".join, _QUOTED.findall(word))) for word in re.findall(_WORD, line)]
    program, own = words[0], os.path.join(_ROOT, "bin", "memory")
    if program in ("python3", "python") and words[1:]:
        words, own = words[1:], _SCRIPT
        program = os.path.join(folder, words[0])
    elif program == "memory":
        found = (os.path.join(folder, place, program) for place in os.get_exec_path())
        program = next(filter(os.path.isfile, found), own)  # only commands have our folder on their PATH
    is_own = os.path.realpath(os.path.join(folder, program)) in (own, _SCRIPT)
    return words[1:] if is_own and OPTION not in words else []


def _describe(words: list[str], folder: str) -> dict[str, Any]:
    """Return what the command needs approval for, by its own account; empty for none, or if it cannot tell."""
    from subprocess import DEVNULL, SubprocessError, run

    # A command that Claude runs has neither.
    environment = {
        name: value for name, value in os.environ.items() if name not in ("CLAUDE_PROJECT_DIR", HANDED_OVER)
    }
    try:
        result = run(
            [sys.executable, "-I", "-S", _SCRIPT, "describe", *words],
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
