"""PreToolUse: let a trusted guard answer a tool call, and give Claude the memories about the call's file; on a fault the call goes through.

PostToolUseFailure: give Claude the memories about the error of a failed command.
"""

from __future__ import annotations

import os

from ..kernel.files import make_folder
from ..memories.guard_file import GuardFile

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..kernel.paths import Paths
    from ..recall.history import Answer
    from .events import Event

_FILE_TOOLS = ("Read", "Edit", "Write", "NotebookEdit")
MAX_SILENT = 1_000_000  # calls, with a byte each


def handle(event: Event) -> dict[str, object] | None:
    """Return the output of a guard for a tool call, else the memories about its file; None if there is neither."""
    if event.paths.state_dir is None:
        return None
    answer = _asked(event) or _guarded(event) or _about_file(event)
    if answer is None:
        _count_silent(event.paths)
    return answer


def handle_failure(event: Event) -> dict[str, object] | None:
    """Return the output with the memories about a failed command, or None."""
    if event.paths.state_dir is None:
        return None
    from ..recall.at_tool import failed_command, recall_at_failure

    failed = failed_command(event.payload)
    if failed is None:
        return None
    answer = _answer("failure", event)
    recall_at_failure(answer, failed, event.field("agent_id"), event.context)
    if answer.needs_refresh:
        from .background import start_refresh

        start_refresh(event.paths)
    output = _output(answer, event)
    if output is None:
        _count_silent(event.paths)
    return output


def count_silent_calls(paths: Paths) -> int:
    """Return the number of tool calls of this project without output; at most MAX_SILENT are counted."""
    try:
        return os.stat(_silent_file(paths)).st_size
    except OSError:
        return 0


def _count_silent(paths: Paths) -> None:
    """Count a call without output by one byte in a file, since a ledger line would take longer than the rest of the hook."""
    path = _silent_file(paths)
    try:
        make_folder(os.path.dirname(path))
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
        handle = os.open(path, flags, 0o600)
        try:
            if os.fstat(handle).st_size < MAX_SILENT:
                os.write(handle, b".")
        finally:
            os.close(handle)
    except OSError:
        return  # a missing count is not worth a report


def _silent_file(paths: Paths) -> str:
    return paths.state("silent", paths.project_key)


def _asked(event: Event) -> dict[str, object] | None:
    """Return the output that makes the client ask the user about a command of ours; None for any other call."""
    call = event.payload.get("tool_input")
    command = call.get("command") if isinstance(call, dict) else None
    if not isinstance(command, str) or "memory" not in command or event.payload.get("can_ask") is False:
        return None
    from .approval import ask

    return ask(event.payload, event.paths)


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
    if not decision:
        return None
    return {
        "hookSpecificOutput": {
            "hookEventName": event.name,
            "permissionDecision": decision,
            "permissionDecisionReason": answer.block,
        }
    }


def _about_file(event: Event) -> dict[str, object] | None:
    """Return the output with the memories about the file of a call; None if no memory names the file or the session has them all."""
    if event.payload.get("tool_name") not in _FILE_TOOLS:
        return None
    from ..recall.named_files import NamedFiles

    files = NamedFiles(event.paths).of_call(event.payload, event.paths.project_root)
    if not files:
        return None
    from ..recall.at_tool import recall_at_file

    answer = _answer("tool", event)
    recall_at_file(answer, files, event.field("agent_id"), event.context)
    return _output(answer, event)


def _answer(place: str, event: Event) -> Answer:
    from ..recall.history import Answer

    return Answer(place, tool=event.field("tool_name"), tool_use_id=event.field("tool_use_id"))


def _output(answer: Answer, event: Event) -> dict[str, object] | None:
    """Return the output for an answer and record it; None for an empty answer, which is not recorded."""
    if not answer.block:
        return None
    event.record(answer.record)
    return event.output(answer.block, answer.receipt)
