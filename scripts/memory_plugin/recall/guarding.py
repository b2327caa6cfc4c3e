"""Guards at a tool call, from top to bottom: prepared guards, match, settings, earlier reminders of the session, answer, record.

The first matching call in a session is denied with the memory as the reason (`remind`), or the client asks the user (`ask`). Only a guard
in the prepared file can do that, and on any fault the call goes through.
"""

from __future__ import annotations

from ..kernel.fastjson import as_text
from .history import Answer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..kernel.context import Context
    from ..kernel.paths import Paths
    from ..memories.guard_file import GuardFile, GuardInForce
    from .history import RecallHistory

DENY, ASK = "deny", "ask"  # a guard's action `ask` is spelled like the client's
_COMMAND_TOOL = "Bash"
_FILE_TOOLS = {"Edit": "file_path", "Write": "file_path", "NotebookEdit": "notebook_path"}
_FOREVER = 1 << 30  # turns
_LOCK_TRIES = 10
_MAX_REASON = 9000  # characters; the client shows a longer output of a hook as a file
_MAX_COVERED = 600
_TAIL_BYTES = 4 << 20
_MAX_ROWS = 200
# The client shows the user only the first line.
_HELD_BACK = "The project's memory holds this call back once: %s."
_BECAUSE = "These are constraints that the user set:"
_AFTER = "If the call is right all the same, the same call goes through when it is made again."


class ToolCall:
    """A tool call as the client describes it: the tool, its command or path, its id, its folder and its sub-agent."""

    __slots__ = ("agent", "can_ask", "command", "folder", "id", "path", "tool", "transcript")

    def __init__(self, payload: dict[str, object]) -> None:
        tool_input = payload.get("tool_input")
        fields: dict[str, object] = tool_input if isinstance(tool_input, dict) else {}
        self.tool = as_text(payload.get("tool_name"))
        self.command = as_text(fields.get("command")) if self.tool == _COMMAND_TOOL else ""
        self.path = _path(fields.get(_FILE_TOOLS.get(self.tool, "")))
        self.id = as_text(payload.get("tool_use_id"))
        self.folder = _path(payload.get("cwd"))
        self.transcript = _path(payload.get("transcript_path"))
        self.agent = as_text(payload.get("agent_id"))
        self.can_ask = payload.get("can_ask") is not False


class GuardMatch:
    """A guard that covers a call, and the command or pattern by which it does."""

    __slots__ = ("guard", "pattern")

    def __init__(self, guard: GuardInForce, pattern: str) -> None:
        self.guard = guard
        self.pattern = pattern


class GuardedCall:
    """A tool call, the guards that cover it, and the prepared file with their texts."""

    __slots__ = ("call", "matches", "prepared")

    def __init__(self, call: ToolCall, matches: list[GuardMatch], prepared: GuardFile) -> None:
        self.call = call
        self.matches = matches
        self.prepared = prepared


def match_call(call: ToolCall, prepared: GuardFile, root: str) -> list[GuardMatch]:
    """Return the guards that cover a call, each with the first of its commands or patterns that matches."""
    if prepared.may_cover_command(call.command):
        matches = _match_command(call.command, prepared)
    elif call.path and prepared.has_files:
        matches = _match_path(call, prepared, root)
    else:
        return []
    return [match for match in matches if _is_in_force(match.guard)]


def _match_command(command: str, prepared: GuardFile) -> list[GuardMatch]:
    from ..memories.guarded_commands import run_by

    commands = [(guard, words) for guard in prepared.guards for words in guard.commands]
    matches: dict[str, GuardMatch] = {}
    for at in sorted(run_by(command, [words for _, words in commands])):
        guard, words = commands[at]
        matches.setdefault(guard.key, GuardMatch(guard, " ".join(words)))
    return list(matches.values())


def _match_path(call: ToolCall, prepared: GuardFile, root: str) -> list[GuardMatch]:
    from ..memories.guarded_files import covers, paths_below

    paths = paths_below(root, call.path, call.folder)
    matches = []
    for guard in prepared.guards:
        pattern = next((file for file in guard.files if any(covers(file, path) for path in paths)), "")
        if pattern:
            matches.append(GuardMatch(guard, pattern))
    return matches


def _is_in_force(guard: GuardInForce) -> bool:
    if not guard.until:
        return True
    from ..kernel.clock import now_iso

    return guard.until > now_iso()


def guarded_call(payload: dict[str, object], paths: Paths, prepared: GuardFile) -> GuardedCall | None:
    """Return the call with the guards that cover it; None if there are none."""
    call = ToolCall(payload)
    matches = match_call(call, prepared, paths.project_root)
    return GuardedCall(call, matches, prepared) if matches else None


def guard_answer(guarded: GuardedCall) -> Answer:
    """Return the answer that lets a guarded call through."""
    call, keys = guarded.call, [match.guard.key for match in guarded.matches]
    return Answer("guard", outcome="let_through", guards=keys, tool=call.tool, tool_use_id=call.id)


def decide(answer: Answer, guarded: GuardedCall, context: Context) -> str:
    """Return DENY, ASK, or empty to let the call through, and fill in the answer with the reason that Claude or the user reads.

    Let the client ask if it can and the action of any guard is `ask`, else remind Claude of the guards that are new to this session.

    Raises OSError if the session's history cannot be read or written; the call then goes through.
    """
    if not context.settings.flag("guards.enabled"):
        answer.record["reason"] = "guards_disabled"
        return ""
    asking = [match for match in guarded.matches if match.guard.action == ASK and guarded.call.can_ask]
    due = [] if asking else _not_reminded(guarded, context)
    if asking:
        answer.block = _question(asking, guarded.prepared)
        answer.record.update(outcome="asked", reason="")
        return ASK
    if due:
        answer.block = _reminder(due, guarded.prepared)
        answer.record.update(outcome="reminded", reason="", injected=[match.guard.key for match in due])
        return DENY
    answer.record["reason"] = "already_reminded"
    return ""


def _not_reminded(guarded: GuardedCall, context: Context) -> list[GuardMatch]:
    """Return the guards of which this session was not reminded yet, and record the reminder under the lock of its history.

    Without a session id no reminder can be recorded, and the call would be denied forever, so it goes through.
    """
    from ..kernel.locks import Busy
    from .history import GUARD, RecallHistory

    if not context.session:
        return []
    for attempt in range(_LOCK_TRIES):
        try:
            with RecallHistory(context.paths, context.session, GUARD, guarded.call.agent) as history:
                return _note_due(guarded, history)
        except Busy:
            if attempt == _LOCK_TRIES - 1 or not context.deadline.remaining():
                raise
    return []


def _note_due(guarded: GuardedCall, history: RecallHistory) -> list[GuardMatch]:
    due = []
    for match in guarded.matches:
        key = match.guard.key
        mark = guarded.prepared.text(key, "mark")
        if not history.was_injected(_mark_key(match), mark, _FOREVER):
            history.record_injected(key, guarded.prepared.text(key, "block"))
            history.record_injected(_mark_key(match), mark)
            history.record_pointer(_mark_key(match), guarded.call.id)
            due.append(match)
        elif _was_made_with_denied(guarded.call, match, history):
            due.append(match)
    return due


def _was_made_with_denied(call: ToolCall, match: GuardMatch, history: RecallHistory) -> bool:
    """Return whether Claude made this call in the same message as a denied call, so that it has not read the reminder yet."""
    siblings = _calls_of_message(call.transcript, call.id) if call.id else set()
    return any(history.was_pointed(_mark_key(match), sibling) for sibling in siblings)


def _calls_of_message(transcript: str, call: str) -> set[str]:
    """Return the ids of the other calls in a call's message; empty if the transcript does not contain the call yet.

    The client writes a row for each block of a message, all with the message's id.
    """
    from ..kernel.transcript.rows import records_backwards

    by_message: dict[str, set[str]] = {}
    for record in records_backwards(transcript, _TAIL_BYTES, _MAX_ROWS):
        message = record.get("message")
        if record.get("type") == "assistant" and isinstance(message, dict):
            by_message.setdefault(str(message.get("id")), set()).update(_call_ids(message.get("content")))
    ids = next((ids for ids in by_message.values() if call in ids), set())
    return ids - {call}


def _call_ids(content: object) -> Iterator[str]:
    for block in content if isinstance(content, list) else ():
        if isinstance(block, dict) and block.get("type") == "tool_use" and isinstance(block.get("id"), str):
            yield block["id"]


def _mark_key(match: GuardMatch) -> str:
    """Return the key of a reminder in a session's history; not the memory's key, because the memory may be injected otherwise."""
    return "guard " + match.guard.key


def _reminder(due: list[GuardMatch], prepared: GuardFile) -> str:
    """Return the reason shown to Claude: the patterns, the memories, and the hint that a repeated call goes through."""
    covered = "; ".join(
        '"%s" covers `%s`' % (prepared.text(match.guard.key, "title"), match.pattern) for match in due
    )
    lines = [_HELD_BACK % covered[:_MAX_COVERED], _BECAUSE]
    room = _MAX_REASON - sum(map(len, lines)) - len(_AFTER)
    for match in due:
        block = prepared.text(match.guard.key, "block")
        if len(block) < room:
            lines.append(block)
            room -= len(block) + 1
    return "\n".join([*lines, _AFTER])


def _question(asking: list[GuardMatch], prepared: GuardFile) -> str:
    """Return the reason shown to the user in the client's question."""
    lines = []
    for match in asking:
        title, body = (prepared.text(match.guard.key, name) for name in ("title", "body"))
        lines.append('memory: "%s" guards `%s`: %s' % (title, match.pattern, body))
    return "\n".join(lines)[:_MAX_REASON]


def _path(value: object) -> str:
    """Return a path that is safe to pass to the system; empty for anything else."""
    text = as_text(value)
    return "" if "\0" in text or any("\ud800" <= char <= "\udfff" for char in text) else text
