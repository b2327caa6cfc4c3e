"""PreToolUse: let a trusted guard answer a tool call, and give Claude the memories about the call's file; on a fault the call goes through.

PostToolUseFailure: give Claude the memories about the error of a failed command.
"""

from __future__ import annotations

import os

from ..memories.guard_file import GuardFile
from .events import PROBLEM, id_field, log_event, open_context

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ..kernel.clock import Deadline
    from ..kernel.context import Context
    from ..kernel.paths import Paths
    from ..recall.answer import Answer
    from .environment import Taint

BEFORE, AFTER = "PreToolUse", "PostToolUseFailure"
_MAX_COUNTED = 1 << 20  # calls; then the count starts again
_FILE_TOOLS = ("Read", "Edit", "Write", "NotebookEdit")


def handle(
    payload: dict[str, object],
    paths: Paths,
    taint: Taint,  # noqa: ARG001  (every handler gets the same arguments)
    deadline: Deadline,
) -> dict[str, object] | None:
    """Return the output of a guard for a tool call, else the memories about its file; None if there is neither."""
    if paths.state_dir is None:
        return None
    loaded: list[Context] = []

    def context_of() -> Context:
        """Return the context; it is created at its first use, because most calls need none."""
        if not loaded:
            loaded.append(open_context(payload, paths, deadline))
        return loaded[0]

    answer = (
        _asked(payload, paths)
        or _guarded(payload, paths, context_of)
        or _about_file(payload, paths, context_of)
    )
    if answer is None:
        _count_silent(paths)
    return answer


def handle_failure(
    payload: dict[str, object],
    paths: Paths,
    taint: Taint,  # noqa: ARG001  (every handler gets the same arguments)
    deadline: Deadline,
) -> dict[str, object] | None:
    """Return the output with the memories about a failed command, or None."""
    if paths.state_dir is None:
        return None
    from ..recall.at_failure import failed_command, recall_at_failure

    failed = failed_command(payload)
    if failed is None:
        return None
    context = open_context(payload, paths, deadline)
    answer = _answer("failure", payload)
    if recall_at_failure(answer, failed, id_field(payload.get("agent_id")), context):
        from .background import start_refresh

        start_refresh(paths)
    output = _output(answer, AFTER, payload, context)
    if output is None:
        _count_silent(paths)
    return output


def count_silent_calls(paths: Paths) -> int:
    """Return the number of tool calls of this project without output."""
    try:
        return os.stat(_silent_file(paths)).st_size
    except OSError:
        return 0


def _count_silent(paths: Paths) -> None:
    """Count a call without output by one byte in a file, since a ledger line would take longer than the rest of the hook."""
    path = _silent_file(paths)
    for _ in range(2):
        try:
            handle = os.open(
                path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o600
            )
        except FileNotFoundError:
            _make_folder(os.path.dirname(path))
            continue
        except OSError:
            return  # a missing count is not worth a report
        try:
            if os.fstat(handle).st_size >= _MAX_COUNTED:
                os.ftruncate(handle, 0)
            os.write(handle, b".")
        except OSError:
            pass
        finally:
            os.close(handle)
        return


def _make_folder(path: str) -> None:
    try:
        os.makedirs(path, 0o700, exist_ok=True)
    except OSError:
        return


def _silent_file(paths: Paths) -> str:
    return paths.state("silent", paths.project_key)


def _asked(payload: dict[str, object], paths: Paths) -> dict[str, object] | None:
    """Return the output that makes the client ask the user about a command of ours; None for any other call."""
    call = payload.get("tool_input")
    command = call.get("command") if isinstance(call, dict) else None
    if not isinstance(command, str) or "memory" not in command or payload.get("can_ask") is False:
        return None
    from .approval import ask

    return ask(payload, paths)


def _guarded(
    payload: dict[str, object], paths: Paths, context_of: Callable[[], Context]
) -> dict[str, object] | None:
    """Return the output of the guards that cover a call and record it; None if none does or if they let the call through."""
    prepared = GuardFile(paths)
    if not prepared.may_cover(payload.get("tool_input")):
        return None
    from ..recall.guarding import decide, guard_answer, guarded_call

    guarded = guarded_call(payload, paths, prepared)
    if guarded is None:
        return None
    context = context_of()
    answer = guard_answer(guarded)
    decision = ""
    try:
        decision = decide(answer, guarded, context)
    finally:  # a failed decision is recorded too
        _append_record(answer.record, payload, BEFORE, context)
    if not decision:
        return None
    return {
        "hookSpecificOutput": {
            "hookEventName": BEFORE,
            "permissionDecision": decision,
            "permissionDecisionReason": answer.block,
        }
    }


def _append_record(record: dict[str, Any], payload: dict[str, object], event: str, context: Context) -> None:
    from ..kernel.context import LedgerError

    record = dict(record, prompt_id=id_field(payload.get("prompt_id")), ms=context.deadline.elapsed_ms())
    try:
        context.append("recalls", record)
    except LedgerError as error:
        log_event(context.paths, context.session, event, PROBLEM, str(error))


def _about_file(
    payload: dict[str, object], paths: Paths, context_of: Callable[[], Context]
) -> dict[str, object] | None:
    """Return the output with the memories about the file of a call; None if no memory names the file or the session has them all."""
    if payload.get("tool_name") not in _FILE_TOOLS:
        return None
    from ..recall.named_files import NamedFiles

    prepared = NamedFiles(paths)
    named = prepared.named_by(payload, paths.project_root) if prepared.any() else {}
    if not named:
        return None
    from ..recall.at_tool import recall_at_file

    context = context_of()
    answer = _answer("tool", payload)
    recall_at_file(answer, named, id_field(payload.get("agent_id")), context)
    return _output(answer, BEFORE, payload, context)


def _answer(place: str, payload: dict[str, object]) -> Answer:
    from ..recall.answer import Answer

    call = {"tool": id_field(payload.get("tool_name")), "tool_use_id": id_field(payload.get("tool_use_id"))}
    return Answer(place, **call)


def _output(
    answer: Answer, event: str, payload: dict[str, object], context: Context
) -> dict[str, object] | None:
    """Return the output for an answer and record it; None for an empty answer, which is not recorded."""
    if not answer.block:
        return None
    _append_record(answer.record, payload, event, context)
    output: dict[str, object] = {
        "hookSpecificOutput": {"hookEventName": event, "additionalContext": answer.block}
    }
    if answer.receipt:
        output["systemMessage"] = answer.receipt
    return output
