"""JSON and BLAKE2 through CPython's C modules, without the cost of importing `json` and `hashlib`.

A hook pays for every import on every prompt: `json` and `hashlib` cost half as much as starting the interpreter, because they pull in `re`,
OpenSSL and more.  The C modules do the same work.  They are private to CPython, so the public module is the fallback of each.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

try:
    from _blake2 import blake2b
except ImportError:  # an interpreter without the private C module
    from hashlib import blake2b

_SPACE = " \t\n\r"
# Python 3.9.14 and later limit the digits themselves (CVE-2020-10735); before, a number of 250,000 digits takes a second.
_MAX_DIGITS = 4300


def _integer(text: str) -> int:
    if len(text) > _MAX_DIGITS:
        raise ValueError("not JSON: a number of %d digits" % len(text))
    return int(text)


class _Defaults:
    """The attributes that the C scanner reads from a `json.JSONDecoder`."""

    strict = True
    object_hook: object = None
    object_pairs_hook = None
    parse_float = float
    parse_int = int if hasattr(sys, "get_int_max_str_digits") else staticmethod(_integer)

    @staticmethod
    def parse_constant(name: str) -> float:
        raise ValueError("not JSON: " + name)


def _join(fields: dict[str, object]) -> object:
    """Join an object of parts, such as `{"any": ["a", "b"]}`, into its text; return any other object unchanged."""
    for how, form, between in (("any", "(?:%s)", "|"), ("all", "%s", ""), ("lines", "%s", " ")):
        parts = fields.get(how)
        if len(fields) == 1 and isinstance(parts, list) and as_texts(parts) == parts:
            return form % between.join(parts)
    return fields


class _Joining(_Defaults):
    object_hook = staticmethod(_join)


def _refuse(value: object) -> object:
    raise TypeError("not JSON: " + type(value).__name__)


try:
    from _json import encode_basestring_ascii, make_encoder, make_scanner

    _scan, _scan_joining = make_scanner(_Defaults()), make_scanner(_Joining())  # type: ignore[arg-type]
    _encode = make_encoder(None, _refuse, encode_basestring_ascii, None, ":", ",", False, False, False)

    def _loads(text: str, joins: bool) -> object:
        start = len(text) - len(text.lstrip(_SPACE))
        try:
            value, end = (_scan_joining if joins else _scan)(text, start)
        except (StopIteration, SystemError):
            # Python 3.10 to 3.12 look for the exception class in `json.decoder` and, when nobody imported it, set none at all.
            raise ValueError("not JSON") from None
        if text[end:].strip(_SPACE):
            raise ValueError("not JSON: text after the value at character %d" % end)
        return value

    def _dumps(value: object) -> str:
        return "".join(_encode(value, 0))
except (ImportError, TypeError):
    from json import dumps as _json_dumps
    from json import loads as _std_loads

    def _loads(text: str, joins: bool) -> object:
        return _std_loads(text, object_hook=_join if joins else None, parse_constant=_Defaults.parse_constant)

    def _dumps(value: object) -> str:
        return _json_dumps(value, separators=(",", ":"), allow_nan=False)


def loads(text: str, *, joins: bool = False) -> object:
    """Return the value of a JSON text.

    With `joins`, which is for the plugin's own data, an object may stand for a long text: `{"any": [...]}` for the alternatives of a
    pattern, `{"all": [...]}` for pieces in a row, `{"lines": [...]}` for lines of words.

    Raises ValueError for anything that is not JSON, too deep nesting included; NaN and Infinity are refused (RFC 8259).
    """
    try:
        return _loads(text, joins)
    except RecursionError:
        raise ValueError("not JSON: nested too deeply") from None


def dumps(value: object) -> str:
    """Return the compact JSON text of a value, in ASCII, which is safe on any terminal and in any log.

    Raises ValueError for NaN, infinity and circular values, TypeError for what JSON cannot hold.
    """
    try:
        return _dumps(value)
    except RecursionError:
        raise ValueError("not JSON: nested too deeply") from None


def digest(data: bytes, size: int = 16) -> str:
    """Return the BLAKE2b digest of some bytes as `2 * size` hexadecimal characters (RFC 7693)."""
    return blake2b(data, digest_size=size).hexdigest()


def load_object(data: bytes, errors: str = "strict") -> dict[str, Any] | None:
    """Return the object in bytes of JSON; None for anything else. `errors` says what to do about bytes that are no UTF-8."""
    try:
        value = loads(data.decode("utf-8", errors))
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def as_text(value: object) -> str:
    """Return a value read from JSON if it is a string, else ""."""
    return value if isinstance(value, str) else ""


def as_texts(value: object) -> list[str]:
    """Return the strings of a list; empty if the value is no list."""
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


def as_object(value: object) -> dict[str, object]:
    """Return a value that is an object; empty for anything else."""
    return value if isinstance(value, dict) else {}


def as_objects(value: object) -> list[dict[str, object]]:
    """Return the objects of a list; empty if the value is no list."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def texts_by_name(value: object) -> dict[str, str]:
    """Return the strings of an object by name; empty if the value is no object."""
    return {name: item for name, item in as_object(value).items() if isinstance(item, str)}


def as_number(value: object) -> int | float | None:
    """Return a value that is a number; None for anything else, true and false included."""
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def as_integer(value: object) -> int | None:
    """Return a value that is a whole number; None for anything else, true and false included."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None
