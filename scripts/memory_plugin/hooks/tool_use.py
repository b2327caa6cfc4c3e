"""PreToolUse: ask about a command of ours that needs approval, let a guard answer a call, or give Claude the memories about its file.

On a fault the call goes through.

PostToolUseFailure: give Claude the memories about the error of a failed command.
"""

from __future__ import annotations

import os
import sys

from ..host import EDITORS, path_field
from ..host.environment import HANDED_OVER
from ..kernel.fastjson import as_object, loads
from ..kernel.paths import own_script
from ..memories.guard_file import GuardFile

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..kernel.context import Deadline
    from ..recall.gate import Answer
    from .entry import Event

# Words without expansions: bare, in single quotes, or in double quotes.
_WORD = r"""(?:[\w@%+=:,./-]|'[^']*'|"[^"$`\\!]*")+"""
# In print mode, Claude is told only this. Measured with 2.1.197 and 2.1.330: every permission mode asks, and print mode refuses.
_ASKS = "memory: %s (If no dialog appears, as in `claude -p`, run this in a terminal.)"


def handle(event: Event) -> dict[str, object] | None:
    """Return the question about a command of ours, or the output of a guard, or the memories about a file; None if there is none."""
    return _asked(event) or _guarded(event) or _about_file(event)


def handle_failure(event: Event) -> dict[str, object] | None:
    """Return the output with the memories about a failed command, or None."""
    from ..recall.at_tool import failed_command, recall_at_failure

    failed = failed_command(event.payload)
    if failed is None:
        return None
    answer = _answer("failure", event)
    recall_at_failure(answer, failed, event.field("agent_id"), event.context)
    if answer.needs_refresh:
        from ..work.background import start_refresh

        start_refresh(event.paths)
    return _output(answer, event)


def _asked(event: Event) -> dict[str, object] | None:
    """Return the output that makes the client ask the user about a command of ours; None for any other call.

    Only a line that is nothing but such a command of our own program is asked about. The hook appends the number of a one-time ticket to
    it, so the command runs as the dialog shows it or refuses to run. Where nobody can be asked, the client does not run it.
    """
    call = as_object(event.payload.get("tool_input"))
    line = call.get("command")
    if not isinstance(line, str) or "memory" not in line or event.payload.get("can_ask") is False:
        return None
    from ..host.commands import TABLE
    from ..memories.tickets import OPTION, issue_ticket

    folder = path_field(event.payload.get("cwd"))
    words = command_words(line, folder)
    may_ask = any(command.asks for command in TABLE if command.noun in words[:1])  # its arguments decide
    needed = _describe(words, folder, event.deadline) if may_ask and event.session else {}
    if not needed:
        return None

    asked = {name: needed[name] for name in ("project", "texts")}
    source = {"call": event.field("tool_use_id"), "transcript": event.transcript}
    number = issue_ticket(event.paths, event.session, {"words": words, **asked, **source})
    changed = {**call, "command": "%s %s %s" % (line.strip(), OPTION, number)}
    return _decided(event, "ask", _ASKS % needed["question"], updatedInput=changed)


def _decided(event: Event, decision: str, reason: str, **more: object) -> dict[str, object]:
    """Return the output that decides about a tool call."""
    output = {"permissionDecision": decision, "permissionDecisionReason": reason, **more}
    return {"hookSpecificOutput": {"hookEventName": event.name, **output}}


def command_words(line: str, folder: str = "") -> list[str]:
    """Return the arguments of a line that is one plain call of our own `memory`; empty for any other line or program.

    A relative path starts at `folder`.
    """
    import re  # most tool calls run no command of ours
    from shlex import split

    from ..host.commands import is_own
    from ..memories.tickets import OPTION

    line = line.strip()
    if not re.fullmatch(r"%s(?: +%s)*" % (_WORD, _WORD), line):
        return []
    words = split(line)
    if words[0] in ("python3", "python"):
        words = words[1:]
        is_ours = bool(words) and os.path.realpath(os.path.join(folder, words[0])) == own_script()
    else:
        is_ours = is_own(words[0], folder)
    return words[1:] if is_ours and OPTION not in words else []


def _describe(words: list[str], folder: str, deadline: Deadline) -> dict[str, Any]:
    """Return what the command needs approval for, by its own account; empty for none, or if it cannot tell."""
    from subprocess import DEVNULL, SubprocessError, check_output

    absent = ("CLAUDE_PROJECT_DIR", HANDED_OVER)  # a command that Claude runs has neither
    environment = {name: value for name, value in os.environ.items() if name not in absent}
    command = [sys.executable, "-I", "-S", own_script(), "describe", *words]
    place, seconds = folder or None, deadline.remaining()
    try:
        output = check_output(
            command, env=environment, cwd=place, stdin=DEVNULL, stderr=DEVNULL, timeout=seconds
        )
        return as_object(loads(output.decode("utf-8")))
    except (OSError, SubprocessError, ValueError):
        return {}


def _guarded(event: Event) -> dict[str, object] | None:
    """Return the output of the guards that cover a call and record it; None if none does or if they let the call through."""
    prepared = GuardFile(event.paths)
    if not prepared.may_cover(event.payload.get("tool_input")):
        return None
    from ..recall.guarding import GuardedCall, decide, guard_answer

    call = GuardedCall(event.payload, prepared, event.paths.project_root)
    if not call.matches:
        return None
    context = event.context
    answer = guard_answer(call)
    decision = ""
    try:
        decision = decide(answer, call, context)
    finally:  # a failed decision is recorded too
        event.record(answer.record)
    return _decided(event, decision, answer.block) if decision else None


def _about_file(event: Event) -> dict[str, object] | None:
    """Return the output with the memories about the file of a call; None if no memory names the file or the session has them all."""
    if event.payload.get("tool_name") not in ("Read", *EDITORS):
        return None
    from ..recall.project_files import NamedFiles

    files = NamedFiles(event.paths).of_call(event.payload, event.paths.project_root)
    if not files:
        return None
    from ..recall.at_tool import recall_at_file

    answer = _answer("tool", event)
    recall_at_file(answer, files, event.field("agent_id"), event.context)
    return _output(answer, event)


def _answer(place: str, event: Event) -> Answer:
    from ..recall.gate import Answer

    return Answer(place, tool=event.field("tool_name"), tool_use_id=event.field("tool_use_id"))


def _output(answer: Answer, event: Event) -> dict[str, object] | None:
    """Return the output for an answer and record it; None for an empty answer, which is not recorded."""
    if not answer.block:
        return None
    event.record(answer.record)
    return event.output(answer.block, answer.receipt)
