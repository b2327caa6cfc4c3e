"""Read what an interview is given: a pack, which its setup is made of, and the input that Claude passes with an answer.

A pack is a JSON file that defines an interview's concept types, ladder, elements and changes to the scoring. The setup is frozen at the
start: config changes must not affect a running interview.

An answer is plain lines or JSON, of which the valid parts are kept. A judge may be asked for its signals.

Lines have the form `name: value`. They avoid the client's permission prompt, which it shows for commands that contain JSON. A line without
a known name continues the value above it.

    question: as it was asked               memory: n1
    answer: as it was given                 title: what it says
    concept: type | text | stance | confidence | quote
    relation: one concept | what it leads to
    signal: uncertainty | type=knowledge_gap | severity=0.8
    covered: element, element
    wish: skip

An invalid part is dropped and reported; the rest is used. No length, type or number is trusted.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial
from typing import Any, Callable, TypeVar

from ..kernel.context import Context
from ..kernel.fastjson import as_object, loads
from ..kernel.files import read_regular
from ..kernel.paths import data_path, load_data
from ..kernel.settings import merged
from ..kernel.settings.schema import Rule, mismatch, schema_problem
from ..kernel.text import without_private
from ..kernel.text.clean import plain
from .interview_store import Given, Interview, InterviewError, Setup, Signals

Part = TypeVar("Part")

SHIPPED = ("requirements", "means_end_chain")
MAX_TOPIC = 200
_MAX_PACK = 1 << 18  # bytes

# Concepts, relations or covered elements of one answer: each is compared with all earlier ones.
_MAX_PARTS = 100
_MAX_ANSWER, _MAX_TEXT, _MAX_LABEL = 20_000, 500, 120
_JUDGE_SECONDS = 3.0
_MAX_TURNS, _MAX_CHARACTERS = 10, 800  # of the excerpt for a judge
_FLAGS = {"true": True, "false": False}
_ANSWER_LINES = ("question", "answer", "concept", "relation", "signal", "covered", "wish")
_COLUMNS = {"concept": ("type", "text", "stance", "confidence", "quote"), "relation": ("source", "target")}
_NUMBERS = ("stance", "confidence")
_MEMORY_LINES = ("memory", "category", "title", "body", "context", "tags", "asked_as")
_LINE = r"(?im)^[ \t]*(%s)[ \t]*:"
_ANY_LINE = r"(?i)\s*(%s)[ \t]*:" % "|".join(_ANSWER_LINES)


class InvalidAnswer(InterviewError):
    """A command's input is invalid; the text says what was expected and what was found."""


def clean_text(text: object, limit: int = _MAX_TEXT) -> str:
    """Return a text as it may be stored: without private passages and secrets, on one line, at most `limit` characters."""
    from ..kernel.hygiene import redact  # not needed for most commands

    # Redacted before it is cut, because half a secret is not recognized.
    if not isinstance(text, str):
        return ""
    line = " ".join(without_private(text).split())  # for ASCII text, `plain` then compiles no pattern
    return plain(redact(plain(line, 4 * len(text) + 1), "memory").text, limit)


def read_pack(name: str) -> dict[str, Any]:
    """Return a validated pack: a shipped one by its name, or the one in a file. Raises InterviewError."""
    path = data_path("interview", "packs", name + ".json") if name in SHIPPED else name
    try:
        data = loads(read_regular(path, _MAX_PACK)[0].decode("utf-8-sig"))
    except (OSError, ValueError) as error:
        raise InterviewError("%s: expected JSON in UTF-8: %s" % (path, error)) from None
    return check_pack(data, path)


def check_pack(data: object, source: str) -> dict[str, Any]:
    """Return a pack that fits `config/interview/pack.schema.json`. Raises InterviewError for the first problem; it names `source`."""
    problem = schema_problem(load_data("interview", "pack.schema"), data)
    if problem:
        raise InterviewError("%s: %s" % (source, problem))
    pack: Any = data
    ids = {key: [entry["id"] for entry in pack[key]] for key in ("types", "elements")}
    for key, allowed in (("ladder", ids["types"]), ("terminal", pack["ladder"])):
        if not set(allowed).issuperset(pack[key]):
            raise InterviewError("%s: %s: expected only %s" % (source, key, ", ".join(allowed)))
    for key, names in ids.items():
        if len(set(names)) < len(names):
            raise InterviewError("%s: %s: expected no duplicate ids" % (source, key))
    return dict(pack)


def new_setup(topic: str, pack: Mapping[str, Any], max_turns: int, changes: Mapping[str, Any]) -> Setup:
    """Return the frozen setup of an interview as plain JSON values.

    `max_turns` is the number of questions, and `changes` the setting `interview.scoring`.
    """
    strategies = {name: {"enabled": on} for name, on in pack.get("strategies", {}).items()}
    of_the_pack = {"strategies": strategies, "multipliers": pack.get("multipliers", {})}
    scoring = merged(merged(load_data("interview", "scoring"), dict(changes)), of_the_pack)
    elements: Any = [{"ask": "", "group": "", **element} for element in pack["elements"]]
    return {
        "topic": topic,
        "pack": {key: pack[key] for key in ("id", "types", "ladder", "terminal")},
        "elements": elements,
        "scoring": scoring,
        "max_turns": max_turns,
    }


def covered_elements(options: str, setup: Setup) -> dict[str, str]:
    """Return the elements of `a=SOURCE,b` that are known beforehand, with their source. Raises InvalidAnswer for an unknown one."""
    covered = {}
    known = sorted(element["id"] for element in setup["elements"])
    for option in options.split(","):
        name, _, source = option.partition("=")
        if name.strip() in known:
            covered[name.strip()] = clean_text(source) or "known beforehand"
        elif option.strip():
            raise InvalidAnswer("covered: expected one of %s, got %r" % (", ".join(known), name.strip()[:60]))
    return covered


def decode_answer(text: str) -> dict[str, object]:
    """Return the fields of an answer in lines, a JSON object, or as the bare text. Raises InvalidAnswer."""
    if re.match(_ANY_LINE, text):
        return _answer_from_lines(text)
    if not text.lstrip().startswith("{"):
        return {"answer": text}
    try:
        data: Any = loads(text)  # an object, because it begins with a brace
    except ValueError:
        raise InvalidAnswer("standard input: expected JSON, or the answer as plain text") from None
    return dict(data)


def decode_memories(text: str) -> list[dict[str, Any]]:
    """Return the memories in lines, each with what is to be changed; a line without a value changes nothing. Raises InvalidAnswer."""
    values = _named_values(text, _MEMORY_LINES)
    if not values or values[0][0] != "memory":
        why = "standard input: expected `memory: CONCEPT`, and below it lines with what to change"
        raise InvalidAnswer(why)
    memories: list[dict[str, Any]] = []
    for name, value in values:
        if name == "memory":
            memories.append({"concept": value})
        elif name in ("tags", "asked_as"):
            memories[-1][name] = [part.strip() for part in value.split(";") if part.strip()]
        elif value:
            memories[-1][name] = value
    return memories


def _named_values(text: str, names: tuple[str, ...]) -> list[tuple[str, str]]:
    """Return the names and values of lines; text before the first known name is ignored."""
    _, *parts = re.split(_LINE % "|".join(names), text)
    values = ["\n".join(line.strip() for line in part.strip().splitlines()) for part in parts[1::2]]
    return list(zip(map(str.lower, parts[::2]), values))


def _answer_from_lines(text: str) -> dict[str, object]:
    """Convert an answer in lines to its JSON object."""
    data: dict[str, Any] = {}
    for name, value in _named_values(text, _ANSWER_LINES):
        words = [word.strip() for word in value.split("," if name == "covered" else "|")]
        if name in _COLUMNS:
            given = zip(_COLUMNS[name], words)
            part = {key: _number_or_text(word) if key in _NUMBERS else word for key, word in given if word}
            data.setdefault(name + "s", []).append(part)
        elif name == "covered":
            data["covered"] = [word for word in words if word]
        elif name == "signal":
            pairs = [[side.strip() for side in pair.partition("=")] for pair in words[1:]]
            fields = {key: _FLAGS.get(word, _number_or_text(word)) for key, _, word in pairs}
            data.setdefault("signals", {})[words[0]] = fields
        else:
            data[name] = value
    return data


def _number_or_text(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


def parse_answer(data: Mapping[str, object], setup: Setup) -> tuple[Given, list[str]]:
    """Return the valid parts of an answer, cleaned for storage, and descriptions of the dropped ones.

    Raises InvalidAnswer without an answer or a wish.
    """
    answer, wish = data.get("answer", ""), data.get("wish", "")
    if wish not in ("", "stop", "skip", "deeper"):
        raise InvalidAnswer("wish: expected one of stop, skip, deeper, got %r" % (wish,))
    if not isinstance(answer, str) or not (answer.strip() or wish):
        got = "nothing" if answer == "" else repr(answer)[:40]
        raise InvalidAnswer("answer: expected a text, got %s" % got)
    signals, invalid = check_signals(data.get("signals"))
    dropped = ["signals.%s: not of the expected form" % name for name in invalid]
    given: Given = {
        "answer": clean_text(answer, _MAX_ANSWER),
        "question": clean_text(data.get("question", "")),
        "wish": str(wish),
        "signals": signals,
        "concepts": _valid(data.get("concepts"), "concepts", partial(_concept, setup=setup), dropped),
        "relations": _valid(data.get("relations"), "relations", _relation, dropped),
        "covered": _valid(data.get("covered"), "covered", partial(_covered, setup=setup), dropped),
    }
    return given, dropped


def _valid(entries: object, name: str, read: Callable[[Any], Part], dropped: list[str]) -> list[Part]:
    """Return the valid entries of a list in an answer; append descriptions of the others to `dropped`."""
    entries = entries or []
    if not isinstance(entries, list):
        entries = []
        dropped.append("%s: expected a list" % name)
    elif len(entries) > _MAX_PARTS:
        dropped.append("%s: only the first %d of %d are used" % (name, _MAX_PARTS, len(entries)))
    valid = []
    for number, entry in enumerate(entries[:_MAX_PARTS]):
        try:
            valid.append(read(entry))
        except InvalidAnswer as error:
            dropped.append("%s.%d: %s" % (name, number, error))
    return valid


def _concept(entry: object, setup: Setup) -> dict[str, Any]:
    given: Any = as_object(entry)
    types = [known["id"] for known in setup["pack"]["types"]]
    kind, stance, confidence = given.get("type"), given.get("stance", 0), given.get("confidence", 0.8)
    text = clean_text(given.get("text"), _MAX_LABEL)
    if not text:
        raise InvalidAnswer("expected an object with a `text`")
    if kind not in types:
        raise InvalidAnswer("type: expected one of %s, got %r" % (", ".join(types), str(kind)[:40]))
    if stance not in (-1, 0, 1):
        raise InvalidAnswer("stance: expected -1, 0 or 1")
    if not isinstance(confidence, (int, float)) or not 0 <= confidence <= 1:
        raise InvalidAnswer("confidence: expected 0 to 1")
    quote = clean_text(given.get("quote"))
    return {"text": text, "type": kind, "stance": int(stance), "confidence": confidence, "quote": quote}


def _relation(entry: object) -> list[str]:
    given = as_object(entry)
    ends = [clean_text(given.get(end), _MAX_LABEL) for end in ("source", "target")]
    if not all(ends):
        raise InvalidAnswer("expected an object with a source and a target")
    return ends


def _covered(name: object, setup: Setup) -> str:
    if not any(name == element["id"] for element in setup["elements"]):
        raise InvalidAnswer("unknown element %r" % str(name)[:60])
    return str(name)


def check_signals(data: object) -> tuple[Signals, list[str]]:
    """Return the valid signals and the names of the invalid ones; each is validated separately.

    A null is no signal: a judge sends it where its schema requires the key.
    """
    if not isinstance(data, dict):
        return {}, [] if data is None else ["signals"]
    valid: Signals = {}
    for name, rule in _signal_rules().items():
        given = as_object(data.get(name))
        fields: Any = {key: given[key] for key in rule.entries() if given.get(key) is not None}
        if mismatch(rule, fields) is None:
            valid[name] = fields
    return valid, [str(name)[:40] for name, value in data.items() if value is not None and name not in valid]


def _signal_rules() -> dict[str, Rule]:
    return {name: Rule(entry) for name, entry in load_data("interview", "signals")["signals"].items()}


def judge_signals(interview: Interview, answer: str, context: Context) -> tuple[Signals | None, str]:
    """Ask a judge for the signals of an answer; return them, or None and the name of the failure.

    The caller has checked that a judge is configured and that the project may use one.
    """
    # They import the network, and most answers need no judge.
    from ..kernel.judge.asking import Judge
    from ..kernel.judge.question import Question, excerpt, load_rubric

    pending, turns = interview.state["next"], interview.state["turns"]
    asked = pending["probe"] if pending else ""
    pairs = [(asked, answer), *((turn["question"], turn["answer"]) for turn in turns[-_MAX_TURNS:])]
    names = ("question", "answer")
    last, *before = (dict(zip(names, (excerpt(text, _MAX_CHARACTERS) for text in pair))) for pair in pairs)
    data = {"before": before, **last}
    question = Question(load_rubric("interview/signals"), data, read_signals)
    verdict = Judge("interview", context).ask(question, context.deadline.within(_JUDGE_SECONDS))
    return None if verdict.values is None else verdict.values["signals"], verdict.failure


def read_signals(reply: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the valid signals of a judge's reply, possibly an empty object; None for a reply that is not about signals.

    If the reply names signals and all are null, the answer has none.
    """
    valid, invalid = check_signals(reply)
    has_none = not invalid and not _signal_rules().keys().isdisjoint(reply)
    return {"signals": valid} if valid or has_none else None
