"""Translate the events of other agents into those of Claude Code, and the output of hooks into theirs.

An agent's own file of hooks (`hooks/codex.json`) passes its name to each script. To add an agent, add such a file and a row to HOSTS.
Measured with Codex CLI 0.169.0.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any, Callable

from ..kernel.fastjson import as_object
from ..kernel.paths import own_script
from ..kernel.transcript import patched_files

Payload = dict[str, object]

_MAX_FILES = 8  # of one patch, for which memories are recalled
# Words in the last lines of a failed command; Codex passes its output, but not its exit code.
_ERRORS = (
    *("error", "fail", "fatal", "traceback", "exception"),
    *("not found", "denied", "no such", "cannot", "*** "),
)
_LAST_LINES = 25
# Other agents have none of the plugin's slash commands.
_COMMANDS = (
    ("/memory:score-replies", "memory replies tune"),
    ("/memory:phrases", "memory check phrases"),
    ("/memory:", "memory "),
)
_TEXT, _REASON = "additionalContext", "permissionDecisionReason"


def _from_codex(payload: Payload) -> Iterator[Payload]:
    """Yield the events of Claude Code for one of Codex: one for each file of a patch; none for a command that seems to have worked."""
    event: Payload = {**payload, "prompt_id": payload.get("turn_id"), "can_ask": False}
    call, response = payload.get("tool_input"), payload.get("tool_response")
    text = as_object(call).get("command")
    if payload.get("tool_name") == "apply_patch" and isinstance(text, str):
        files = patched_files(text)
        event["patched"] = [path for _, path in files]  # a guard sees all of them
        for tool, path in files[:_MAX_FILES]:
            yield {**event, "tool_name": tool, "tool_input": {"file_path": path}}
    elif payload.get("hook_event_name") != "PostToolUse":
        yield event
    elif isinstance(response, str) and _shows_error(response):
        yield {**event, "error": response}


def _shows_error(output: str) -> bool:
    last = "\n".join(output.lower().split("\n")[-_LAST_LINES:])
    return any(word in last for word in _ERRORS)


# Name -> what users call the agent, and the function that translates its events.
HOSTS: dict[str, tuple[str, Callable[[Payload], Iterator[Payload]]]] = {"codex": ("Codex", _from_codex)}


def translated_events(host: str, payload: Payload) -> list[Payload]:
    """Return the events of Claude Code that correspond to an agent's event. Raises KeyError for an unknown agent."""
    return list(HOSTS[host][1](payload))


def joined_output(outputs: list[Payload]) -> Payload | None:
    """Return one output for the files of a patch: it holds the patch back if one of theirs does; None without outputs."""
    if len(outputs) < 2:
        return outputs[0] if outputs else None
    inner: list[Any] = [output["hookSpecificOutput"] for output in outputs]
    held = next((each for each in inner if _REASON in each), None)
    text = "\n".join(each.get(_REASON) or each[_TEXT] for each in inner)
    messages = [str(output["systemMessage"]) for output in outputs if "systemMessage" in output]
    joined: Payload = {"hookSpecificOutput": {**(held or inner[0]), _REASON if held else _TEXT: text}}
    return {**joined, "systemMessage": "\n".join(messages)} if messages else joined


def translated_output(host: str, payload: Payload, output: Payload) -> Payload:
    """Return a hook's output with the agent's name for the event and for itself, and the path of our program, which is not on its PATH."""
    agent, result = HOSTS[host][0], dict(output)
    message, inner = output.get("systemMessage"), output.get("hookSpecificOutput")
    if isinstance(message, str):
        result["systemMessage"] = "\n".join(_about(agent, line) for line in message.split("\n"))
    if isinstance(inner, dict):
        inner = {**inner, "hookEventName": payload.get("hook_event_name")}
        if payload.get("hook_event_name") == "SessionStart" and _TEXT in inner:
            program = os.path.join(os.path.dirname(os.path.dirname(own_script())), "bin", "memory")
            inner[_TEXT] = '%s\n`memory` is "%s"' % (inner[_TEXT], program)
        result["hookSpecificOutput"] = inner
    return result


def _about(agent: str, line: str) -> str:
    """Return a line to the user with the agent's name and with commands of a terminal, except in quoted titles."""
    own, quote, titles = line.partition('"')
    for word, other in (("Claude", agent), *_COMMANDS):
        own = own.replace(word, other)
    return own + quote + titles
