"""Translate the rows of a Codex CLI transcript (`rollout-*.jsonl`) into rows of Claude Code.

Measured with 0.169.0: `response_item` rows hold the conversation; each other type repeats it or describes the session.
"""

from __future__ import annotations

from ..fastjson import loads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Row = dict[str, Any]

# A line of a patch that begins a file -> the tool of Claude Code that does the same.
_PATCHES = {"*** Add File: ": "Write", "*** Update File: ": "Edit", "*** Delete File: ": "Edit"}
_SHELL_TOOLS = ("exec_command", "shell_command", "shell", "local_shell")
_EXIT = ("Process exited with code ", "Exit code: ")
# Texts in the user's place that the agent adds begin with one of these.
_ADDED = ("<environment_context>", "<user_instructions>", "# AGENTS.md instructions", "<turn_aborted>")


def row_of_rollout(record: Row) -> Row:
    """Return the row of Claude Code for a row of Codex; an empty one if it is not part of the conversation."""
    item = record.get("payload")
    if record.get("type") == "compacted":
        return {"type": "system", "subtype": "compact_boundary"}
    if record.get("type") != "response_item" or not isinstance(item, dict):
        return {}
    kind = item.get("type")
    if kind == "message":
        row = _message(item)
    elif kind in ("function_call", "custom_tool_call"):
        row = _assistant(item, [_call(item)])
    elif kind in ("function_call_output", "custom_tool_call_output"):
        row = _result(item)
    else:
        row = {}
    return {**row, "uuid": item.get("id"), "timestamp": record.get("timestamp")} if row else {}


def patched_files(patch: str) -> list[tuple[str, str]]:
    """Return the files of a patch in the format of `apply_patch`: for each the tool of Claude Code that does the same, and its path."""
    return [
        (tool, line[len(start) :].strip())
        for line in patch.split("\n")
        for start, tool in _PATCHES.items()
        if line.startswith(start)
    ]


def _message(item: Row) -> Row:
    pieces = item.get("content")
    texts = (
        [piece.get("text") for piece in pieces if isinstance(piece, dict)] if isinstance(pieces, list) else []
    )
    text = "\n".join(text for text in texts if isinstance(text, str))
    if item.get("role") == "assistant":
        return _assistant(item, [{"type": "text", "text": text}])
    if item.get("role") != "user" or text.startswith(_ADDED):
        return {}
    return {"type": "user", "message": {"content": text}, "promptId": _turn(item)}


def _assistant(item: Row, content: list[Row]) -> Row:
    return {"type": "assistant", "message": {"id": item.get("id"), "model": "codex", "content": content}}


def _call(item: Row) -> Row:
    name, arguments = str(item.get("name")), _arguments(item)
    if name in _SHELL_TOOLS:
        command = arguments.get("cmd", arguments.get("command"))
        if isinstance(command, list):  # ["bash", "-lc", "make"]
            command = command[-1] if command else ""
        name, arguments = "Bash", {"command": command}
    elif name == "apply_patch":
        patch = str(item.get("input"))
        name, path = (patched_files(patch) or [("Edit", "")])[0]
        arguments = {"file_path": path, "patch": patch}
    return {"type": "tool_use", "id": item.get("call_id"), "name": name, "input": arguments}


def _arguments(item: Row) -> Row:
    try:
        arguments: object = loads(str(item.get("arguments") or "{}"))
    except ValueError:
        return {}
    return arguments if isinstance(arguments, dict) else {}


def _result(item: Row) -> Row:
    output = item.get("output")
    text = output if isinstance(output, str) else ""
    head, _, printed = text.partition("\nOutput:\n")
    block = {
        "type": "tool_result",
        "tool_use_id": item.get("call_id"),
        "content": printed or text,
        "is_error": any(start in head and not head.partition(start)[2].startswith("0") for start in _EXIT),
    }
    return {"type": "user", "message": {"content": [block]}, "toolUseResult": {"stdout": text}}


def _turn(item: Row) -> object:
    details = item.get("internal_chat_message_metadata_passthrough")
    return details.get("turn_id") if isinstance(details, dict) else None
