"""The rows of a transcript: who wrote a row and what, and the last rows of a file, read backwards.

A row in the user's place is a prompt, a slash command, or a note of the client.

Rows of a Codex CLI transcript (`rollout-*.jsonl`) are translated. Measured with 0.169.0: `response_item` rows hold the conversation; each
other type repeats it or describes the session.
"""

from __future__ import annotations

from ..fastjson import as_object, as_text, load_object
from ..files import open_regular, seek_tail
from ..paths import load_data

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    Row = dict[str, object]

PROMPT, COMMAND = "prompt", "command"
PERSON, PROGRAM = "person", "program"  # who let a tool call run
_DECIDED = {"type": "hook_permission_decision", "hookEvent": "PermissionRequest"}  # of an attachment
SYNTHETIC = "<synthetic>"  # the model's name in replies that the client made up, such as API errors
# Flags of rows that are not the conversation: of sub-agents, of the client's notes, of the summary after a compaction, of API errors.
_NOT_CONVERSATION = ("isSidechain", "isMeta", "isCompactSummary", "isApiErrorMessage")
_BOM = b"\xef\xbb\xbf"
_NAME = ("<command-name>", "</command-name>")
_MAX_PROMPT = 100_000  # characters
_MAX_NOTES = 20  # before one prompt
_TYPED_BYTES = 8 << 20  # of the end of a transcript: a turn in which Claude saves something is not longer
# A line of a patch that begins a file -> the tool of Claude Code that does the same.
_PATCHES = {
    "*** Add File: ": "Write",
    "*** Update File: ": "Edit",
    "*** Delete File: ": "Edit",
    "*** Move to: ": "Write",
}
_EXIT = ("Process exited with code ", "Exit code: ")
# Outputs of calls that did not run.
_REFUSED = ("apply_patch verification failed", "failed in sandbox", "execution error: ")
# Texts in the user's place that the agent adds begin with one of these.
_ADDED = (
    "<environment_context>", "<user_instructions>", "# AGENTS.md instructions", "<turn_aborted>", "<skill>",
)  # fmt: skip
_beginnings: list[tuple[tuple[str, ...], str]] = []
_note_tags: list[str] = []


def records_backwards(path: str, tail_bytes: int, max_lines: int = 2000) -> Iterator[Row]:
    """Yield the objects on the last `max_lines` lines of a transcript, within its last `tail_bytes` bytes, the latest first.

    Never raises: a file that is missing, a pipe, or not a transcript yields nothing.
    """
    yield from filter(None, map(parse_row, reversed(_last_lines(path, tail_bytes)[-max_lines:])))


def parse_row(line: bytes) -> Row | None:
    """Return the object on a line as Claude Code writes it, or None. A byte order mark and invalid UTF-8 are tolerated."""
    value = load_object(line.removeprefix(_BOM), "replace")
    return value if value is None or "payload" not in value or "message" in value else row_of_rollout(value)


def _last_lines(path: str, tail_bytes: int) -> list[bytes]:
    try:
        with open(path, "rb", opener=open_regular) as file:
            seek_tail(file, tail_bytes)
            return [line for line in file.read(tail_bytes).split(b"\n") if line]
    except (OSError, ValueError):
        return []


def message_of(row: Row) -> Row:
    """Return the message in a row; empty if it has none."""
    return as_object(row.get("message"))


def blocks_of(content: object) -> list[Row]:
    """Return the blocks of a message's content, which is a list, a text or missing; a text is a block of its own."""
    blocks = content if isinstance(content, list) else [content]
    texts = [{"type": "text", "text": block} if isinstance(block, str) else block for block in blocks]
    return [block for block in texts if isinstance(block, dict)]


def plain_text(content: object) -> str:
    """Return the text of a message's content, without tool calls, tool results and images."""
    texts = (block.get("text") for block in blocks_of(content) if block.get("type") == "text")
    return "\n".join(text for text in texts if isinstance(text, str))


def user_input_of(record: Row) -> tuple[str, str]:
    """Return the kind of a row that a person wrote, PROMPT or COMMAND, and its text; for a slash command, its arguments.

    Both are empty for every other row: tool results, interruptions, summaries of compactions, and the client's notes.
    """
    if record.get("type") != "user" or "toolUseResult" in record or not _is_conversation(record):
        return "", ""
    kind, text = kind_and_text(record, plain_text(message_of(record).get("content")))
    if kind == COMMAND:
        return COMMAND, text.partition(" ")[2]
    return (PROMPT, text) if kind == PROMPT and text else ("", "")


def kind_and_text(record: Row, text: str) -> tuple[str, str]:
    """Return the kind of a text in the user's place, and what a person wrote in it: a command's name and arguments, else the text.

    The kind is PROMPT, COMMAND, "summary" of a compaction, "notice" for what no person wrote, or another of `kind_of`.
    """
    text = without_notes(text)
    kind = "summary" if record.get("isCompactSummary") is True else kind_of(text)
    if kind in (PROMPT, COMMAND) and (record.get("isMeta") is True or not is_from_person(record)):
        kind = "notice"
    if kind == COMMAND:
        text = "%s %s" % (_between(text, *_NAME), _between(text, "<command-args>", "</command-args>"))
    return kind, text[:_MAX_PROMPT].strip()


def reply_text_of(record: Row) -> str:
    """Return the model's text in a row; empty for tool calls, API errors and sub-agents."""
    message = message_of(record)
    if record.get("type") != "assistant" or message.get("model") == SYNTHETIC or not _is_conversation(record):
        return ""
    return plain_text(message.get("content"))


def _is_conversation(record: Row) -> bool:
    return not any(record.get(flag) for flag in _NOT_CONVERSATION)


def is_from_person(record: Row) -> bool:
    """Return whether a person wrote a row, by its `origin`; True for rows of older clients, which have none."""
    origin = record.get("origin")
    return not isinstance(origin, dict) or origin.get("kind") in (None, "human", "channel")


def was_typed(transcript: str, prompt: str) -> bool:
    """Return whether the transcript says that a person typed the prompt with this id into the client.

    Only the client writes these marks (measured with 2.1.197 and 2.1.330). Prompts of a schedule, an agent, a program or a notification
    have other ones or none, and a prompt that is not found does not count.
    """
    if not prompt:
        return False
    rows = (row for row in records_backwards(transcript, _TYPED_BYTES) if row.get("promptId") == prompt)
    return any(_is_typed(row) for row in rows)


def _is_typed(row: Row) -> bool:
    origin = row.get("origin")
    if row.get("type") != "user" or not _is_conversation(row):
        return False
    if row.get("promptSource") == "typed":
        return isinstance(origin, dict) and origin.get("kind") == "human"
    is_command = kind_of(plain_text(message_of(row).get("content"))) == COMMAND
    return is_command and row.get("turnOrigin") == "human"


def who_allowed(transcript: str, call: str) -> str:
    """Return who let a tool call run, PERSON or PROGRAM (such as a hook), by the transcript; empty if it does not say so (yet).

    Measured: since 2.1.330 or later the row of the result has the source of the decision. Older clients write a row for the decision
    of a hook before it, and none for that of a person. Where an SDK runs the client, a program answers.
    """
    who = ""
    for row in records_backwards(transcript, _TYPED_BYTES) if call else ():
        decision = as_object(row.get("attachment"))
        if decision.get("toolUseID") == call and _DECIDED.items() <= decision.items():
            return PROGRAM
        blocks = blocks_of(message_of(row).get("content"))
        kinds = [block.get("type") for block in blocks if call in (block.get("id"), block.get("tool_use_id"))]
        if "tool_result" in kinds:
            who = PERSON if _was_a_person(row) else PROGRAM
        elif "tool_use" in kinds:
            return who
    return ""


def _was_a_person(result: Row) -> bool:
    decision = result.get("permissionDecision")
    source = decision.get("source") if isinstance(decision, dict) else "user"
    return str(source).startswith("user") and not str(result.get("entrypoint")).startswith("sdk")


def kind_of(text: str) -> str:
    """Return the kind of a user row by the beginning of its text: PROMPT, or a kind in `config/transcript/beginnings.json`."""
    text = text.lstrip()
    _load()
    return next((kind for starts, kind in _beginnings if text.startswith(starts)), PROMPT)


def without_notes(text: str) -> str:
    """Return a prompt without the client's notes before it; unchanged if it consists of notes only."""
    rest = text.lstrip()
    if rest[:1] != "<":
        return text
    _load()
    for _ in range(_MAX_NOTES):
        tag = next((tag for tag in _note_tags if rest.startswith(("<%s>" % tag, "<%s " % tag))), "")
        end = rest.find("</%s>" % tag) if tag else -1
        if end < 0:
            break
        rest = rest[end + len("</%s>" % tag) :].lstrip()
    return rest or text


def _load() -> None:
    if not _beginnings:
        content = load_data("transcript", "beginnings")
        _note_tags.extend(content["notes"]["tags"])
        _beginnings.extend((tuple(entry["starts"]), entry["kind"]) for entry in content["beginnings"])


def _between(text: str, start: str, end: str) -> str:
    return text.partition(start)[2].partition(end)[0].strip()


def inserted_prompt(attachment: object) -> object:
    """Return the content of a prompt that the client (since 2.1.4x) inserted into a running turn; None for other attachments."""
    if not isinstance(attachment, dict) or attachment.get("type") != "queued_command":
        return None
    if attachment.get("commandMode") not in (None, "prompt") or attachment.get("isMeta") is True:
        return None
    return attachment.get("prompt") if is_from_person(attachment) else None


def row_of_rollout(record: Row) -> Row:
    """Return the row of Claude Code for a row of Codex; an empty one if it is not part of the conversation."""
    item = record.get("payload")
    if record.get("type") != "response_item" or not isinstance(item, dict):
        return {}
    build = _ITEMS.get(str(item.get("type")))
    row = build(item) if build else {}
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
    texts = (piece.get("text") for piece in blocks_of(item.get("content")))
    text = "\n".join(text for text in texts if isinstance(text, str))
    if item.get("role") == "assistant":
        return _assistant(item, [{"type": "text", "text": text}])
    if item.get("role") != "user" or text.startswith(_ADDED):
        return {}
    metadata = as_object(item.get("internal_chat_message_metadata_passthrough"))
    return {"type": "user", "message": {"content": text}, "promptId": metadata.get("turn_id")}


def _assistant(item: Row, content: list[Row]) -> Row:
    return {"type": "assistant", "message": {"id": item.get("id"), "model": "codex", "content": content}}


def _call(item: Row) -> Row:
    name, text = str(item.get("name")), as_text(item.get("arguments"))
    arguments: Row = load_object(text.encode("utf-8", "replace")) or {}
    if name in ("exec_command", "shell_command", "shell", "local_shell"):
        command = arguments.get("cmd", arguments.get("command"))
        if isinstance(command, list):  # ["bash", "-lc", "make"]
            command = "".join(map(str, command[-1:]))
        name, arguments = "Bash", {"command": command}
    elif name == "apply_patch":
        patch = str(item.get("input"))
        name, path = (patched_files(patch) or [("Edit", "")])[0]
        arguments = {"file_path": path, "patch": patch}
    call: Row = {"type": "tool_use", "id": item.get("call_id"), "name": name, "input": arguments}
    return _assistant(item, [call])


def _result(item: Row) -> Row:
    text = as_text(item.get("output"))
    head, _, printed = text.partition("\nOutput:\n")
    has_failed = any(start in head and not head.partition(start)[2].startswith("0") for start in _EXIT)
    block = {
        "type": "tool_result",
        "tool_use_id": item.get("call_id"),
        "content": printed or text,
        "is_error": has_failed or text.startswith(_REFUSED),
    }
    return {"type": "user", "message": {"content": [block]}, "toolUseResult": {"stdout": text}}


_ITEMS = {
    **dict.fromkeys(("function_call", "custom_tool_call"), _call),
    **dict.fromkeys(("function_call_output", "custom_tool_call_output"), _result),
    "message": _message,
}
