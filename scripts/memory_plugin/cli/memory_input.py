"""The fields of a memory as options of the command line, shared by `save` and `edit`."""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import subprocess
import sys
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any, NamedTuple

from ..kernel.files import in_words, make_folder, read_regular, replace_file
from ..memories.files import MAX_BYTES
from ..memories.record import MAX_ASKED_AS, InvalidMemory, categories, category_named, parse_memory

if TYPE_CHECKING:
    from ..kernel.paths import Places
    from ..memories.files import StoredMemory
    from .command_context import CommandContext

__all__ = [
    "MAX_INPUT",
    "Draft",
    "add_fields",
    "content_json",
    "edited_draft",
    "project_files",
    "text_of",
    "to_category",
    "wrong_use",
]

MAX_INPUT = 1 << 20
MAX_TAGS = 20
_NEVER = "never"
# What every Python reads alike, with `Z` for UTC: later ones take weeks and dates without hyphens besides.
_DATE = re.compile(r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d)?(?:Z|[+-]\d\d:\d\d)?)?\Z", re.ASCII)
_TIME = "%Y-%m-%dT%H:%M:%SZ"
_FIXED = ("id", "category")


def add_fields(parser: argparse.ArgumentParser) -> None:
    """Declare the options that both commands take."""
    parser.add_argument(
        "--tags",
        type=_words,
        action="extend",
        metavar="a,b",
        help="tags, parted by commas (at most %d)" % MAX_TAGS,
    )
    parser.add_argument(
        "--file",
        dest="files",
        action="append",
        metavar="PATH",
        help="a file that it is about; may be repeated",
    )
    parser.add_argument(
        "--context", metavar="TEXT|-", help="what went wrong, and what was considered; - reads standard input"
    )
    parser.add_argument(
        "--asked-as",
        action="append",
        metavar="PHRASE",
        help="other words by which a prompt may ask for it, added to those it has; up to %d times"
        % MAX_ASKED_AS,
    )
    parser.add_argument(
        "--expires", type=_expiry, metavar="DATE", help="YYYY-MM-DD, after which it is not recalled"
    )
    parser.add_argument(
        "--content-json",
        metavar="JSON|-",
        help="the category's own fields as a JSON object, or - for standard input",
    )


def to_category(name: str) -> str:
    """A category's name from any spelling of it. Raises ArgumentTypeError naming all there are."""
    try:
        return category_named(name).name
    except InvalidMemory as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _words(text: str) -> list[str]:
    return [word for word in (part.strip() for part in text.split(",")) if word]


def _expiry(text: str) -> str:
    """A day as it is, a time in UTC; empty for `never`. Raises ArgumentTypeError for what is no date, or past."""
    if text == _NEVER:
        return ""
    try:
        moment = datetime.fromisoformat(text.replace("Z", "+00:00") if _DATE.match(text) else "")
        moment = moment if moment.tzinfo else moment.replace(tzinfo=timezone.utc)
        form = _TIME if "T" in text or " " in text else "%Y-%m-%d"
        written = moment.astimezone(timezone.utc).strftime(form)
    except (ValueError, OverflowError):
        raise argparse.ArgumentTypeError("expected a date such as 2031-12-31, got %r" % text) from None
    if written < datetime.now(timezone.utc).strftime(_TIME)[: len(written)]:
        raise argparse.ArgumentTypeError("%s is past" % text)
    return written


def wrong_use(arguments: argparse.Namespace) -> str:
    """What is wrong with how often an option was given, or with one that says nothing; or empty."""
    for name in ("title", "body", "context"):
        given = getattr(arguments, name)
        if given is not None and not given.strip():
            return "--%s: expected a text, got nothing" % name
    if len(arguments.tags or ()) > MAX_TAGS:
        return "--tags: at most %d, got %d" % (MAX_TAGS, len(arguments.tags))
    if len(arguments.asked_as or ()) > MAX_ASKED_AS:
        return "--asked-as: at most %d, got %d" % (MAX_ASKED_AS, len(arguments.asked_as))
    if [arguments.body, arguments.context, arguments.content_json].count("-") > 1:
        return "only one of --body, --context and --content-json can read standard input"
    return ""


def text_of(value: str, option: str) -> str:
    """An option's text; `-` stands for standard input. Raises InvalidMemory for input that is no UTF-8 text, or too much."""
    if value != "-":
        return value
    data = sys.stdin.buffer.read(MAX_INPUT + 1) if sys.stdin else b""
    if len(data) > MAX_INPUT:
        raise InvalidMemory("%s: more than %d bytes on standard input" % (option, MAX_INPUT))
    if not data.strip():
        raise InvalidMemory("%s: nothing came on standard input" % option)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidMemory(
            "%s: standard input is not UTF-8 (byte %d); nothing was stored" % (option, error.start)
        ) from None


def content_json(value: str) -> dict[str, Any]:
    """The JSON object of `--content-json`. Raises InvalidMemory for anything else."""
    try:
        content = json.loads(text_of(value, "--content-json"), parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        if isinstance(error, InvalidMemory):
            raise
        raise InvalidMemory("--content-json: not JSON: %s" % error) from None
    if not isinstance(content, dict):
        raise InvalidMemory("--content-json: expected an object, got %s" % type(content).__name__)
    return content


def _refuse(name: str) -> None:
    raise ValueError("%s is no JSON number" % name)


def project_files(paths: list[str], places: Places) -> list[str]:
    """Files named from the folder at hand or from the project's, as they are written in a memory: from the project's folder."""
    return list(dict.fromkeys(_project_file(path, places.project_root) for path in paths))


def _project_file(path: str, root: str) -> str:
    full = os.path.realpath(path)
    if os.path.exists(full) and full.startswith(root + os.sep):
        path = os.path.relpath(full, root)
    return path.replace(os.sep, "/")


class Draft(NamedTuple):
    """What the user made of a memory, and the file in which they wrote it."""

    path: str
    data: dict[str, Any]

    def discard(self) -> None:
        """Delete the file, once its content is stored."""
        os.unlink(self.path)


def edited_draft(context: CommandContext, stored: StoredMemory) -> Draft | None:
    """The memory as the user changed it in $VISUAL or $EDITOR; None when they changed nothing.

    Raises InvalidMemory, naming the draft that was kept, when it is not a memory any more or the editor failed.
    """
    path = _draft(context, stored)
    before = stored.memory.data
    try:
        code = subprocess.run([*_editor(), path], check=False).returncode
    except (OSError, ValueError) as error:
        raise InvalidMemory("the editor could not be started (%s); set $EDITOR" % in_words(error)) from None
    if code:
        raise InvalidMemory(
            "the editor ended with exit code %d; nothing was changed, your draft is %s" % (code, path)
        )
    data = _parsed(path, stored)
    if data == before:
        os.unlink(path)
        return None
    return Draft(path, data)


def _draft(context: CommandContext, stored: StoredMemory) -> str:
    folder = context.places.state("drafts")
    make_folder(folder)
    path = os.path.join(folder, "%s.%d.json" % (stored.memory.id, os.getpid()))
    text = json.dumps(stored.memory.data, indent=2, ensure_ascii=False) + "\n"
    replace_file(path, text.encode("utf-8", "backslashreplace"))
    return path


def _editor() -> list[str]:
    """The user's editor with its own arguments; the environment holds no editor of the project's, since that was dropped."""
    chosen = os.environ.get("VISUAL") or os.environ.get("EDITOR") or ("notepad" if os.name == "nt" else "vi")
    return shlex.split(chosen)


def _parsed(path: str, stored: StoredMemory) -> dict[str, Any]:
    memory = stored.memory
    try:
        data = json.loads(read_regular(path, MAX_BYTES)[0].decode("utf-8-sig"))
        parse_memory(data, memory.id, categories()[memory.category])
        for name in _FIXED:
            if data.get(name) != memory.data.get(name):
                raise InvalidMemory(
                    "%s: stays %r; to move a memory, save it anew" % (name, memory.data.get(name))
                )
    except (OSError, ValueError, RecursionError) as error:
        raise InvalidMemory("%s; nothing was changed, your draft is %s" % (error, path)) from None
    assert isinstance(data, dict)
    return data
