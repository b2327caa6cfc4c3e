"""Find the conversations in a file, the turns in a conversation and the texts in a turn, as other programs write them.

A file is JSON, lines of JSON, a table or text with a label before each turn. What is no text counts as not read.
The words for roles and fields are in `config/evaluation/spellings.json`.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Collection, Iterator, Mapping
from functools import cache
from itertools import groupby
from operator import itemgetter
from typing import Any, Optional

from ..kernel.fastjson import as_object, as_text, dumps, loads
from ..kernel.judge.question import read_number
from ..kernel.paths import load_data

Texts = list[tuple[str, Optional[str]]]  # by role; None for what is no text

# A role may be a part of a longer word or of a field's name, as in `HumanMessage`, `assistant_agent` and `actual_output`.
_ROLE = re.compile(r"\s*(?:\w*role[._])?([a-z]+?)(?:message)?(?:chunk)?(?![a-z])", re.IGNORECASE)
_ROLE_FIELD = re.compile(
    r"([a-z]+?)[ _-]?(?:message|input|prompt|query|question|text|content|turn|response|reply|answer|output|utterance)?"
)
_PROSE = re.compile(r"(?:[^\W\d_]+[^\w\n]+){2}[^\W\d_]")
_MAX_NESTING = 5
_MAX_RESULT = 200_000  # characters kept of a tool's result that is no text


@cache
def words(name: str) -> tuple[str, ...]:
    """Return a list of words of the data file."""
    return tuple(load_data("evaluation", "spellings")[name].split())


@cache
def _pattern(name: str) -> re.Pattern[str]:
    return re.compile(load_data("evaluation", "spellings")["patterns"][name], re.IGNORECASE | re.MULTILINE)


@cache
def _roles() -> dict[str, str]:
    roles = load_data("evaluation", "spellings")["roles"]
    return {spelling: role for role, spellings in roles.items() for spelling in spellings.split()}


def in_utf8(data: bytes) -> bytes:
    """Return a file's content in UTF-8 without byte order mark."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        data = data.decode("utf-16", "replace").encode("utf-8", "replace")
    return data.removeprefix(b"\xef\xbb\xbf")


def split_conversations(data: bytes) -> list[object]:
    """Return the conversations in a file's content, each an object that holds its turns, or a list of them."""
    text = data.decode("utf-8", "replace")
    try:
        return _split(loads(text))
    except ValueError:
        records = list(parse_lines(data))
    is_json = any(records) or text.lstrip().startswith(("{", "[{", "[\n"))  # perhaps cut off
    return _split(records if is_json else _table(text) or _labeled(text) or records)


def parse_lines(data: bytes) -> Iterator[object]:
    """Yield the JSON value of each line that is not blank, or None for a line that is not JSON."""
    for line in data.decode("utf-8", "replace").split("\n"):
        if line.strip():
            try:
                yield loads(line)
            except ValueError:
                yield None


def _table(text: str) -> list[object]:
    """Return the rows of a CSV table with turns, None for one that is longer than its head; empty for any other text.

    Its delimiter is a comma, a semicolon, as spreadsheets write it in many countries, or a tab.
    """
    delimiter = max(",;\t", key=text.partition("\n")[0].count)
    try:
        rows = list(csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True))
    except csv.Error:
        return []
    is_table = any(_is_turn(row) or turns_of(row) or _alternatives(row) for row in rows)
    return [None if None in row else row for row in rows] if is_table else []


def _labeled(text: str) -> list[object]:
    """Return the turns of a text in which a label such as `User:` begins each; a text before the first is a record of its own.

    If one side never speaks, its label may be unknown, and what it said part of a turn: then None is one more record.
    """
    before, *pieces = map(str.strip, _pattern("label").split(text))
    turns = [{"role": role, "content": said} for role, said in zip(pieces[::2], pieces[1::2]) if said]
    lost = [] if {"user", "assistant"} <= {*map(_role, pieces[::2])} else [None]
    return [*filter(None, [before]), *turns, *lost] if turns else []


def _split(record: object, depth: int = 0) -> list[object]:
    """Return the conversations in the list of a record, or the record."""
    lists = [record, *(as_object(record).get(name) for name in words("lists"))]
    for found in lists if depth < _MAX_NESTING else ():
        entries = found if isinstance(found, list) else [found] if found is not record and found else []
        is_one = any(map(_is_turn, entries))
        nested = (part for entry in entries for part in _split(entry, depth + 1))
        parts: list[object] = _grouped(entries) if is_one else [*nested]
        if any(map(_is_conversation, parts)) and not (is_one and (found is record or turns_of(record))):
            return parts
    rows = record if isinstance(record, list) else [record]
    is_several = rows is record or len([*_tree(record)]) > 1
    return _grouped(rows) if is_several else _alternatives(record) or [record]


def _grouped(rows: list[object]) -> list[object]:
    """Return the conversations that rows name, or all rows as one; of a tree of messages each thread."""
    groups: dict[str, list[object]] = {}
    for message in (message for row in rows for message in _tree(row)):
        groups.setdefault(str(field_of(message, "conversation_fields")), []).append(message)
    return [thread for group in groups.values() for thread in _threads(group)] or [rows]


def _tree(row: object) -> Iterator[object]:
    """Yield a message and those below it in a tree."""
    root = as_object(row).get("prompt")
    yield (row := root if "replies" in as_object(root) else row)
    replies = field_of(row, "replies")
    for reply in replies if isinstance(replies, list) else ():
        yield from _tree(reply)


def _threads(rows: list[object]) -> list[object]:
    """Return the threads of a tree of messages, each from its root to a message that none answers; all rows if they are no tree."""
    nodes = {str(field_of(row, "node_fields")): as_object(row) for row in rows}
    parents = {str(field_of(row, "parent_fields")) for row in rows}
    threads = [_thread(nodes, leaf) for leaf in nodes if leaf not in parents]
    is_tree = parents & nodes.keys() and len({id(row) for thread in threads for row in thread}) == len(rows)
    return [*threads] if is_tree else [rows]


def _alternatives(record: object) -> list[object]:
    """Return a conversation for each of the answers that a record compares; empty for any other record."""
    fields = as_object(record)
    answers = [fields[name] for name in words("alternatives") if isinstance(fields.get(name), (str, list))]
    rest = {name: fields[name] for name in fields if answers and name not in words("alternatives")}
    asked = turns_of(rest) or [{name: rest[name]} for name in rest if _role_of_field(name) == "user"]
    threads = [turns_of({"turns": one}) or [{"role": "assistant", "content": one}] for one in answers]
    return [thread if "user" in map(_role_of, thread) else [*asked, *thread] for thread in threads]


def _is_conversation(record: object) -> bool:
    return isinstance(record, list) or bool(turns_of(record)) or "tier" in as_object(record)


def turns_of(record: object, depth: int = 0) -> list[object]:
    """Return the turns that an object holds, in its order, those of its sessions one after the other; empty if it holds none."""
    if not isinstance(record, dict) or depth > _MAX_NESTING:
        return []
    if _role_of(record) and not any(isinstance(record.get(name), list) for name in words("turns")):
        return []
    turns: list[object] = []
    has_list = False
    for name, value in record.items():
        inner = [turn for entry in _entries(name, record) for turn in turns_of(entry, depth + 1) or [entry]]
        if inner and (name in words("turns") or any(map(_role_of, inner))):
            turns += inner
            has_list = True
        elif _role_of_field(name) and _holds_prose(value, ()):
            turns.append({name: value})
    return turns if has_list else []


def _entries(name: str, record: Mapping[str, Any]) -> list[Any]:
    """Return what a field of a record holds that may hold turns; empty for another field."""
    value = record[name]
    if name == "mapping":  # of ChatGPT's export
        nodes = {key: as_object(node) for key, node in as_object(value).items()}
        return [node for node in _thread(nodes, record.get("current_node")) if node.get("message")]
    if name not in words("turns") + words("holders"):
        return []
    if isinstance(value, str):
        is_whole = name in words("turns") or value.lstrip().startswith(("[{", "{"))
        found = split_conversations(value.encode("utf-8", "replace"))[0] if is_whole else _labeled(value)
        sides = {*map(_role_of, turns := turns_of({"turns": found}))} - {""}
        value = turns if sides and (is_whole or {"user", "assistant"} <= sides) else value
    return value if isinstance(value, list) else [value] if isinstance(value, dict) else []


def _thread(nodes: Mapping[str, dict[str, object]], leaf: object) -> list[dict[str, object]]:
    """Return the nodes from the root to a leaf, as others hold what the user had made again or edited; all if there is no leaf."""
    thread: list[dict[str, object]] = []
    while str(leaf) in nodes and len(thread) < len(nodes):
        thread.insert(0, nodes[str(leaf)])
        leaf = field_of(thread[0], "parent_fields")
    return thread or [*nodes.values()]


def _is_turn(record: object) -> bool:
    """Return whether a record is or wraps a turn, or is a question with its answer that is no conversation of its own."""
    if not isinstance(record, dict) or _alternatives(record):
        return _is_pair(record)
    inner = turns_of(record)
    if inner:
        return len(inner) == 1 and record.keys().isdisjoint(words("turns"))
    is_row = "tier" not in record or field_of(record, "conversation_fields") is not None
    return bool(_role_of(record)) or (is_row and any(map(_role_of_field, record)))


def _is_pair(record: Any) -> bool:  # noqa: ANN401
    """Return whether a record is what the user said and the answer, as chat windows keep them."""
    return isinstance(record, list) and len(record) == 2 and all(isinstance(one, str) for one in record)


def _role(value: object) -> str:
    if isinstance(value, dict):
        value = value.get("role") or value.get("name")
    match = _ROLE.match(value) if isinstance(value, str) else None
    return _roles().get(match[1].lower(), "") if match else ""


def _lowered(record: Mapping[str, object]) -> dict[str, object]:
    return {str(name).strip().lower().replace(" ", "_"): value for name, value in record.items()}


def _role_of(record: object) -> str:
    """Return the role of a turn; empty for any other record."""
    fields = _lowered(as_object(record))
    role = next(filter(None, (_role(fields.get(field)) for field in words("role_fields"))), "")
    return "assistant" if role == "system" and "speaker" in fields else role  # of a dialogue system


def field_of(record: object, names: str) -> object:
    """Return the first value that a record has under the names in a list of the data file; None without any."""
    fields = _lowered(as_object(record))
    return next((fields[name] for name in words(names) if fields.get(name) not in (None, "")), None)


def in_order(records: list[object]) -> list[object]:
    """Return records from the first to the last by their different numbers or times, as some servers list the last first."""
    places = [field_of(record, "time_fields") for record in records]
    numbers: list[Any] = [read_number(place) for place in places]
    known = [place for place in places if str(place)[:2] == "20"] if None in numbers else numbers
    is_known = len({*map(str, known)}) == len(records)
    return [record for _, record in sorted(zip(known, records), key=itemgetter(0))] if is_known else records


def _role_of_field(name: object) -> str:
    match = _ROLE_FIELD.fullmatch(str(name).strip().lower())
    return _roles().get(match[1], "") if match else ""


def texts_of(record: Any) -> Texts:  # noqa: ANN401
    """Return the texts of a turn, or of a question and its answer in one record, by role."""
    if _is_pair(record):
        role = _roles().get(record[0].strip().lower())  # as LangChain writes messages
        return [(role, record[1])] if role else [("user", record[0]), ("assistant", record[1])]
    fields = _lowered(as_object(record))
    role, kind = _role_of(fields), as_text(fields.get("type"))
    if "role" not in fields and _pattern("silent").search(kind) and not _pattern("result").search(kind):
        return []
    if not role:
        return _question_and_answer(fields)
    content = _content(fields)
    is_call = role == "tool" or fields.get("tool_calls") or fields.get("function_call")
    return list(_pieces(role, [] if content is None and is_call else content)) or [(role, "")]


def _content(fields: Mapping[str, object]) -> object:
    """Return what a turn or block holds, an empty text only if it holds nothing else; None without any."""
    known = [fields[name] for name in words("text_fields") if fields.get(name) is not None]
    return next(filter(None, known), known[0] if known else None)


def _question_and_answer(fields: Mapping[str, object]) -> Texts:
    texts: Texts = []
    for name, value in fields.items():
        is_name = name in words("names") and not _PROSE.search(as_text(value))
        texts += () if is_name or not _role_of_field(name) else _pieces(_role_of_field(name), value)
    return texts if texts and not may_hold_more([fields], texts) else [*texts, ("", None)]


def may_hold_more(records: list[Any], texts: Texts) -> bool:
    """Return whether records lack what one side said, or the last answer, and hold another text that may be it."""
    sides = [role for role, _ in groupby(role for role, _ in texts if role in ("user", "assistant"))]
    if 0 < sides.count("user") <= sides.count("assistant"):
        return False
    known = {text for _, text in texts}
    return any(_holds_prose(record, known) for record in records if not _role_of(record))


def _holds_prose(value: object, known: Collection[str | None]) -> bool:
    if isinstance(value, str):
        return value not in known and _PROSE.search(value) is not None
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return any(_holds_prose(one, known) for one in inner)


def _pieces(role: str, value: object) -> Iterator[tuple[str, str | None]]:
    """Yield the texts in a content, which may be blocks, by role: the results of tools in it are the tools'."""
    if isinstance(value, list):
        for block in value:
            yield from _pieces(role, block)
    elif isinstance(value, dict):
        only_name = next(iter(value)) if len(value) == 1 else ""
        kind = as_text(value.get("type") or value.get("content_type")) or only_name
        is_result = _pattern("result").search(kind)
        if not is_result and (_pattern("silent").search(kind) or value.get("thought") is True):
            return
        role = "tool" if is_result else role
        inner = _content(value)
        yield from _pieces(role, dumps(value)[:_MAX_RESULT] if inner is None and role == "tool" else inner)
    else:
        yield role, value if isinstance(value, str) else None
