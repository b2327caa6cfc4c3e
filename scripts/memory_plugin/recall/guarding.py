"""Guards at a tool call, from top to bottom: prepared guards, match, settings, earlier reminders of the session, answer, record.

The first matching call in a session is denied with the memory as the reason (`remind`), or the client asks the user (`ask`). Only a guard
in the prepared file can do that, and on any fault the call goes through.
"""

from __future__ import annotations

from ..host import EDITORS
from ..kernel.context import Context, Deadline, now_iso
from ..kernel.fastjson import as_object, as_text
from ..kernel.paths import project_root
from ..memories.guard_file import COMMAND_TOOLS, GuardFile, GuardInForce
from .gate import Answer
from .history import FOREVER, GUARD, RecallHistory

DENY, ASK = "deny", "ask"  # a guard's action `ask` is spelled like the client's
_LOCK_WAIT = 0.5  # seconds
_ROW_WAIT, _ROW_PAUSE = 0.4, 0.02  # seconds
_MAX_REASON = 9000  # characters; the client shows a longer output of a hook as a file
_MAX_COVERED = 600
_TAIL_BYTES = 4 << 20
_MAX_ROWS = 200
# The client shows the user only the first line.
_HELD_BACK = "Blocked once by the memory %s."
_BECAUSE = "The user wants you to read this first:"
_AFTER = "If the call is still right, run it again unchanged; it will go through."


class GuardedCall:
    """A tool call as the client describes it, and the guards that cover it, each with its first command or pattern that matches."""

    def __init__(self, payload: dict[str, object], prepared: GuardFile, root: str) -> None:
        fields = as_object(payload.get("tool_input"))
        self.tool = as_text(payload.get("tool_name"))
        self.command = as_text(fields.get("command")) if self.tool in COMMAND_TOOLS else ""
        changed, patched = [fields.get(EDITORS.get(self.tool, ""))], payload.get("patched")
        changed += patched if isinstance(patched, list) else []
        self.files = list(filter(None, map(_path, changed)))
        self.id = as_text(payload.get("tool_use_id"))
        self.folder = _path(payload.get("cwd"))
        self.transcript = _path(payload.get("transcript_path"))
        self.agent = as_text(payload.get("agent_id"))
        self.can_ask = payload.get("can_ask") is not False
        self.prepared = prepared
        self.matches: list[tuple[GuardInForce, str]] = []
        if self.command:
            self._match_command(root)
        elif self.files:
            self._match_path(root)
        now = now_iso()
        self.matches = [match for match in self.matches if not match[0].until or match[0].until > now]

    def _match_command(self, root: str) -> None:
        from ..memories.guarded_commands import run_by

        commands = [(guard, words) for guard in self.prepared.guards for words in guard.commands]
        first: dict[str, tuple[GuardInForce, str]] = {}
        # A guard's paths begin at the root of any worktree; a command may have them in full.
        tops = (root, project_root(self.folder or root))
        texts = dict.fromkeys([self.command, *(self.command.replace(top + "/", "") for top in tops)])
        fold = str.casefold if self.tool == "PowerShell" else str  # which ignores case
        folded = [[*map(fold, words)] for _, words in commands]
        for at in sorted({at for text in texts for at in run_by(fold(text), folded)}):
            guard, words = commands[at]
            first.setdefault(guard.key, (guard, " ".join(words)))
        self.matches = list(first.values())

    def _match_path(self, root: str) -> None:
        from ..memories.guard_file import covers, paths_below

        paths = [path for file in self.files for path in paths_below(root, file, self.folder)]
        for guard in self.prepared.guards:
            pattern = next((file for file in guard.files if any(covers(file, path) for path in paths)), "")
            if pattern:
                self.matches.append((guard, pattern))

    def text(self, guard: GuardInForce, name: str) -> str:
        """Return a text of a guard's memory, as `GuardFile.text` does."""
        return self.prepared.text(guard.key, name)


def guard_answer(call: GuardedCall) -> Answer:
    """Return the answer that lets a guarded call through."""
    keys = [guard.key for guard, _ in call.matches]
    return Answer("guard", outcome="let_through", guards=keys, tool=call.tool, tool_use_id=call.id)


def decide(answer: Answer, call: GuardedCall, context: Context) -> str:
    """Return DENY, ASK, or empty to let the call through, and fill in the answer with the reason that Claude or the user reads.

    Let the client ask if it can and the action of any guard is `ask`, else remind Claude of the guards that are new to this session.

    Raises OSError if the session's history cannot be read or written; the call then goes through.
    """
    if not context.settings.flag("guards.enabled"):
        answer.record["reason"] = "guards_disabled"
        return ""
    asking = [match for match in call.matches if match[0].action == ASK and call.can_ask]
    if asking:
        # The client shows this to the user.
        text = 'memory: "%s" guards `%s`: %s'
        lines = [text % (call.text(one, "title"), what, call.text(one, "body")) for one, what in asking]
        answer.block = "\n".join(lines)[:_MAX_REASON]
        answer.record.update(outcome="asked", reason="")
        return ASK
    due = _not_reminded(call, context)
    if due:
        answer.block = _reminder(due, call)
        answer.record.update(outcome="reminded", reason="", injected=[guard.key for guard, _ in due])
        return DENY
    answer.record["reason"] = "already_reminded"
    return ""


def _not_reminded(call: GuardedCall, context: Context) -> list[tuple[GuardInForce, str]]:
    """Return the guards of which this session was not reminded yet, and record the reminder under the lock of its history.

    Without a session id no reminder can be recorded, and the call would be denied forever, so it goes through.
    """
    if not context.session:
        return []
    wait = min(_LOCK_WAIT, context.deadline.remaining())
    with RecallHistory(context.paths, context.session, GUARD, call.agent, wait) as history:
        return [match for match in call.matches if _is_due(match[0], call, history, context.deadline)]


def _is_due(guard: GuardInForce, call: GuardedCall, history: RecallHistory, deadline: Deadline) -> bool:
    """Return whether Claude has yet to read the reminder, and record it if it is new.

    Claude has not read it either at a call in the same message as a denied one.
    """
    # Not the memory's own key, because the memory may be injected otherwise.
    key, mark = "guard " + guard.key, call.text(guard, "mark")
    if history.was_injected(key, mark, FOREVER):
        siblings = _calls_of_message(call.transcript, call.id, deadline) if call.id else set()
        return any(history.was_pointed(key, sibling) for sibling in siblings)
    history.record_injected(guard.key, call.text(guard, "block"))
    history.record_injected(key, mark)
    history.record_pointer(key, call.id)
    return True


def _calls_of_message(transcript: str, call: str, deadline: Deadline) -> set[str]:
    """Return the ids of the other calls in a call's message; empty if the transcript does not contain the call.

    Parallel calls may be asked about before their rows are written, so a call that is missing is looked for again for a moment.
    """
    import os
    from time import sleep

    deadline = deadline.within(_ROW_WAIT if os.path.exists(transcript) else 0)
    while not (calls := _written_calls(transcript, call)) and deadline.remaining():
        sleep(_ROW_PAUSE)
    return calls - {call}


def _written_calls(transcript: str, call: str) -> set[str]:
    """Return the ids of all calls in a call's message. The client writes a row for each block of a message, all with the message's id."""
    from ..kernel.transcript import blocks_of, message_of, records_backwards

    by_message: dict[str, set[str]] = {}
    for record in records_backwards(transcript, _TAIL_BYTES, _MAX_ROWS):
        if record.get("type") == "assistant":
            message = message_of(record)
            blocks = blocks_of(message.get("content"))
            calls = {str(block.get("id")) for block in blocks if block.get("type") == "tool_use"}
            by_message.setdefault(str(message.get("id")), set()).update(calls)
    return next((ids for ids in by_message.values() if call in ids), set())


def _reminder(due: list[tuple[GuardInForce, str]], call: GuardedCall) -> str:
    """Return the reason shown to Claude: the patterns, the memories, and the hint that a repeated call goes through."""
    named = ((call.text(guard, "title"), pattern) for guard, pattern in due)
    covered = "; ".join('"%s", which guards `%s`' % one for one in named)
    lines = [_HELD_BACK % covered[:_MAX_COVERED], _BECAUSE]
    room = _MAX_REASON - sum(map(len, lines)) - len(_AFTER)
    for guard, _ in due:
        block = call.text(guard, "block")
        if len(block) < room:
            lines.append(block)
            room -= len(block) + 1
    return "\n".join([*lines, _AFTER])


def _path(value: object) -> str:
    """Return a path that is safe to pass to the system; empty for anything else."""
    text = as_text(value)
    return "" if "\0" in text or any("\ud800" <= char <= "\udfff" for char in text) else text
