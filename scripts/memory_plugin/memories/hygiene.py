"""Keep private passages, secrets, personal numbers and deceptive characters out of memories."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from ..kernel.hygiene import chosen_rules, redact
from ..kernel.hygiene.filters import names_a_secret
from ..kernel.hygiene.scanner import Redaction
from ..kernel.text import without_private
from ..kernel.text.clean import block, plain
from . import InvalidMemory
from .record import MAX_DEPTH, MAX_TITLE

MAX_TAG = 40
_MAX_LINE = 1000
_MAX_SHORT_VALUE = 200
_clean_texts: set[int] = set()
_REFUSED = "%s: refused, because it contains what must not be stored (%s); to allow it, add the rule to the setting hygiene.allow"
_NOTHING_LEFT = "%s: nothing is left of it after private text and hidden characters are removed"
# Characters that are redacted beyond a cut and then dropped: more than the longest secret of any rule, a private key of 8,000.
CUT_MARGIN = 10_000
MAX_PHRASE = 200
_MAX_GROWTH = 4  # a generous bound for how much longer a text becomes in NFC
_NAME = re.compile(r"[a-z0-9](?:[a-z0-9_-]{0,78}[a-z0-9])?\Z")
_MOMENT = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[Tt ][0-9:.,]{4,20} ?(?:[Zz]|[+-][0-9:]{2,6})?)?\Z")
# Fields that we write ourselves, with the pattern of our values; any other value is treated as ordinary text.
_FIXED = {
    "schema_version": re.compile(r"[0-9]{1,3}(?:\.[0-9]{1,3}){0,2}\Z"),
    "category": _NAME,
    "id": _NAME,
    "record_status": _NAME,
    "created_at": _MOMENT,
    "updated_at": _MOMENT,
    "retired_at": _MOMENT,
    "archived_at": _MOMENT,
}


class Shown(str):
    """A text that was redacted when it was indexed, and is not redacted again."""

    __slots__ = ()


class Redacted(NamedTuple):
    """A piece of text that was removed: the rule that found it, and its field."""

    rule: str
    field: str


def clean_data(data: dict[str, object]) -> tuple[dict[str, Any], list[Redacted]]:
    """Return a memory's data as it may be written, and a list of what was removed.

    Raises InvalidMemory if the title or the content becomes empty, or if a rule refuses the whole text.
    """
    redacted: list[Redacted] = []
    cleaned: dict[str, Any] = {}
    for field, value in data.items():
        name = clean_text(field, "a field's name", redacted)
        cleaned[name] = value if _is_fixed(name, value) else _clean(value, name, redacted, 0, name)
    cleaned["title"] = plain(str(cleaned.get("title") or ""), MAX_TITLE)
    for name, length in (("tags", MAX_TAG), ("asked_as", MAX_PHRASE)):
        if isinstance(cleaned.get(name), list):
            texts = (plain(item, length).replace(",", " ") for item in cleaned[name] if isinstance(item, str))
            cleaned[name] = list(dict.fromkeys(filter(None, texts)))
    for name in ("title", "content"):
        if not _holds_text(cleaned[name]):
            raise InvalidMemory(_NOTHING_LEFT % name)
    return cleaned, redacted


def _is_fixed(name: str, value: object) -> bool:
    return name in _FIXED and (value is None or (isinstance(value, str) and bool(_FIXED[name].match(value))))


def _holds_text(value: object) -> bool:
    if isinstance(value, dict):
        return any(map(_holds_text, value.values()))
    return any(map(_holds_text, value)) if isinstance(value, list) else bool(value)


def _clean(value: object, field: str, redacted: list[Redacted], depth: int, name: str) -> object:
    """Return a value without secrets; `name` is the key that it is stored under, which the items of a list inherit.

    An outer key counts if both together name a secret, as `api: {key: ...}`.
    """
    if depth > MAX_DEPTH:
        raise InvalidMemory("%s: nested more than %d levels deep" % (field, MAX_DEPTH))
    if isinstance(value, str):
        return _clean_value(value, field, redacted, name)
    if isinstance(value, list):
        return [_clean(item, field, redacted, depth + 1, name) for item in value]
    if isinstance(value, dict):
        cleaned: dict[str, object] = {}
        for key, item in value.items():
            inner = clean_text(str(key), field, redacted)
            compound = "%s_%s" % (name, inner)
            meant = compound if name and names_a_secret(compound) else inner
            cleaned[inner] = _clean(item, "%s.%s" % (field, inner), redacted, depth + 1, meant)
        return cleaned
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        text = _clean_value(str(value), field, redacted, name)
        return value if text == str(value) else text
    return value


def _clean_value(value: str, field: str, redacted: list[Redacted], name: str) -> str:
    """Return a text without secrets. A text of no known form may be a secret because of its name, as in `password: ...`."""
    if name and value and len(value) <= _MAX_SHORT_VALUE:
        prefix = "%s: " % " ".join(name.split())
        redactions: list[Redacted] = []
        text = clean_text(prefix + value, field, redactions)
        if redactions and text.startswith(prefix):
            redacted.extend(redactions)
            # Of several words under a secret's name, all go: the rules find only the first.
            replaces_all = names_a_secret(name) and len(value.split()) > 1
            return "[redacted:%s]" % redactions[0].rule if replaces_all else text[len(prefix) :]
        words = value.split()[1:] if names_a_secret(name) else []
        for word in words:
            clean_text(prefix + word, field, redactions)
        if redactions:
            redacted.append(redactions[0])
            return "[redacted:%s]" % redactions[0].rule
    return clean_text(value, field, redacted)


def _without_secrets(text: str, place: str) -> Redaction:
    """Return the visible text without secrets, as the user's present choice of rules has it.

    A text without findings is remembered by its hash: accepting a memory and indexing it redacts it for two places.
    """
    mark = hash((text, chosen_rules()))
    if mark in _clean_texts:
        return Redaction(text, [])
    result = _redact_visible(text, place)
    if result.text == text and not result.findings:
        _clean_texts.add(mark)
    return result


def _redact_visible(text: str, place: str) -> Redaction:
    """Redact a text, and once more without its hidden characters: one may split a secret, or separate it from the word before."""
    first = redact(text, place)
    # Writing refuses a memory that is too large.
    visible = block(first.text, _MAX_GROWTH * len(first.text) + 1)
    if visible == first.text or (first.text.isascii() and visible.split() == first.text.split()):
        return Redaction(visible, first.findings)  # only white space went: redacting it again changes nothing
    second = redact(visible, place)
    return Redaction(second.text, first.findings + second.findings)


def shown(text: str) -> str:
    """Return a stored text as it may be shown to a person or to Claude; a file in a repository may contain anything."""
    return _without_secrets(text, "inject").text


def shown_line(text: str, limit: int = _MAX_LINE) -> str:
    """Return the text as `shown`, on one line of at most `limit` characters; a title of several lines could pass for a command's output.

    Like `shown_block`, it redacts at most `limit` characters and a margin.
    """
    return plain(text if isinstance(text, Shown) else _beginning(text, limit), limit)


def shown_items(items: Sequence[str], limit: int) -> list[str]:
    """Return short texts, such as tags, as `shown_line` does."""
    return [shown_line(item, limit) for item in items]


def shown_block(text: str, limit: int) -> str:
    """Return the first lines of the text as `shown`, at most `limit` characters.

    A text that is cut before redaction may end in half a secret, so the last `CUT_MARGIN` characters of the redacted text are dropped.
    They are counted there because a long secret that became a short mark moves the end forward.
    """
    return block(_beginning(text, limit), limit)


def _beginning(text: str, limit: int) -> str:
    piece = text[: limit + CUT_MARGIN]
    redacted = shown(piece)
    return redacted if len(piece) == len(text) else redacted[:-CUT_MARGIN]


def clean_text(text: str, field: str, redacted: list[Redacted]) -> str:
    """Return a text as it may be written, and add what was removed to `redacted`. Raises InvalidMemory if a rule refuses it."""
    result = _without_secrets(without_private(text), "memory")
    for finding in result.findings:
        if finding.action == "block":
            raise InvalidMemory(_REFUSED % (field, finding.rule))
        if finding.action == "redact":
            redacted.append(Redacted(finding.rule, field))
    return result.text
