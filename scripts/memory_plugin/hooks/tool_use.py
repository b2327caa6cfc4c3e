"""PreToolUse: let a trusted guard answer a tool call, and give Claude the memories about the call's file; on a fault the call goes through.

PostToolUseFailure: give Claude the memories about the error of a failed command.
"""

from __future__ import annotations

from ..host.events import count_silent
from ..memories.guard_file import GuardFile

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..recall import Answer
    from .entry import Event

_FILE_TOOLS = ("Read", "Edit", "Write", "NotebookEdit")


def handle(event: Event) -> dict[str, object] | None:
    """Return the output of a guard for a tool call, else the memories about its file; None if there is neither."""
    if event.paths.state_dir is None:
        return None
    answer = _asked(event) or _guarded(event) or _about_file(event)
    if answer is None:
        count_silent(event.paths)
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
        from ..work.background import start_refresh

        start_refresh(event.paths)
    output = _output(answer, event)
    if output is None:
        count_silent(event.paths)
    return output


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
    from ..recall.project_files import NamedFiles

    files = NamedFiles(event.paths).of_call(event.payload, event.paths.project_root)
    if not files:
        return None
    from ..recall.at_tool import recall_at_file

    answer = _answer("tool", event)
    recall_at_file(answer, files, event.field("agent_id"), event.context)
    return _output(answer, event)


def _answer(place: str, event: Event) -> Answer:
    from ..recall import Answer

    return Answer(place, tool=event.field("tool_name"), tool_use_id=event.field("tool_use_id"))


def _output(answer: Answer, event: Event) -> dict[str, object] | None:
    """Return the output for an answer and record it; None for an empty answer, which is not recorded."""
    if not answer.block:
        return None
    event.record(answer.record)
    return event.output(answer.block, answer.receipt)
