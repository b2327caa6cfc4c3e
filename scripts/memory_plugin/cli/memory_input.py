"""Read the fields of a memory from the options of `save` and `edit`, or from a draft in the user's editor, and keep titles unique."""

from __future__ import annotations

import os
import re
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from typing import Any

from ..kernel.context import now_iso
from ..kernel.paths import Paths
from ..memories import InvalidMemory
from ..memories.guard import ACTIONS, guard_json, parse_guard, plain_rule
from ..memories.guard_file import files_problem
from ..memories.memory_files import PROJECT, USER
from ..memories.record import MAX_ASKED_AS, Category, body_content, categories, category_named, utc_time
from ..work.save import NONE
from .command_context import UsageError
from .console import read_input

MAX_INPUT = 1 << 20
MAX_TAGS = 20
_NEVER = "never"
# Options that can be repeated: name, destination, value, help.
_REPEATED = (
    ("--file", "files", "PATH", "a file that the memory is about"),
    ("--asked-as", "asked_as", "PHRASE", "a search phrase: how someone might ask for it later (at most eight)"),
    ("--guard-command", "guard_commands", "COMMAND", "guard a command, such as 'git push --force'"),
    ("--guard-file", "guard_files", "PATTERN", "guard files: a .gitignore-style pattern, such as 'db/migrations/*.sql'"),
)  # fmt: skip
_CONTEXT = "the problem: what went wrong, what was considered; - reads standard input"
_ACTION = "block once a session (default), or have Claude Code ask you each time"
# What the client and editors put around the path of a file: `@src/app.py#L5-9`, `file:///home/ada/app.py`.
_AROUND_PATH = re.compile(r"\A(?:@|file://)|#L\d+(?:-L?\d+)?\Z")
_ONE_EACH = "name each file by itself; the option can be repeated"
_OUTSIDE = "expected a path below the project; no other is looked at"
_DATE_LENGTH = len("2031-12-31")


def add_fields(parser: ArgumentParser) -> None:
    """Declare the options that both commands share."""
    tags = "tags, separated by commas (at most %d)" % MAX_TAGS
    parser.add_argument("--tags", type=_words, action="extend", metavar="a,b", help=tags)
    for flag, name, value, text in _REPEATED:
        parser.add_argument(flag, dest=name, action="append", metavar=value, help=text + "; can be repeated")
    parser.add_argument("--guard-action", choices=ACTIONS, help=_ACTION)
    parser.add_argument("--context", metavar="TEXT|-", help=_CONTEXT)
    until = "YYYY-MM-DD: the last day on which it is shown"
    parser.add_argument("--expires", type=_expiry, metavar="DATE", help=until)


def add_category(parser: ArgumentParser, text: str) -> None:
    """Declare `--category`; `text` is its help, in which `%s` stands for the names of all categories."""
    names = text % ", ".join(categories())
    parser.add_argument("--category", type=_category_name, metavar="NAME", help=names)


def add_scope(parser: ArgumentParser) -> None:
    """Declare `--scope`: where a memory is stored."""
    text = "this project (default), or all your projects"
    parser.add_argument("--scope", choices=(PROJECT, USER), default=PROJECT, help=text)


def _category_name(name: str) -> str:
    """Return the canonical name of a category. Raises ArgumentTypeError, which lists all names."""
    try:
        return category_named(name).name
    except InvalidMemory as error:
        raise ArgumentTypeError(str(error)) from None


def _words(text: str) -> list[str]:
    return list(filter(None, map(str.strip, text.split(","))))


def _expiry(text: str) -> str:
    """Return a date unchanged and a time in UTC; empty for `never` and `none`. Raises ArgumentTypeError for an invalid or past date."""
    if text in (_NEVER, NONE):
        return ""
    moment = utc_time(text)
    if not moment:
        raise ArgumentTypeError("expected a date such as 2031-12-31, or never; got %r" % text)
    if moment < now_iso():
        raise ArgumentTypeError("%s is in the past" % text)
    return moment if len(text) > _DATE_LENGTH else text


def check_fields(arguments: Namespace) -> None:
    """Raise UsageError for an option that is empty or was given too often."""
    for name in ("title", "body", "context"):
        text = getattr(arguments, name)
        if text is not None and not text.strip():
            raise UsageError("--%s: expected a text, got nothing" % name)
    lists = (("tags", arguments.tags, MAX_TAGS), ("asked-as", arguments.asked_as, MAX_ASKED_AS))
    for name, given, most in lists:
        if len(given or ()) > most:
            raise UsageError("--%s: expected at most %d, got %d" % (name, most, len(given)))
    if arguments.body == arguments.context == "-":
        raise UsageError("only one of --body and --context can read standard input")


def text_of(value: str, option: str) -> str:
    """Return an option's text; `-` reads standard input. Raises InvalidMemory for input that is empty, too long or not UTF-8."""
    if value != "-":
        return value
    data = read_input(MAX_INPUT + 1)
    if len(data) > MAX_INPUT:
        raise InvalidMemory("%s: more than %d bytes on standard input" % (option, MAX_INPUT))
    if not data.strip():
        raise InvalidMemory("%s: standard input is empty" % option)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        text = "%s: standard input is not UTF-8 (byte %d); nothing was stored"
        raise InvalidMemory(text % (option, error.start)) from None


def content_of(arguments: Namespace, category: Category) -> dict[str, Any]:
    """Return the fields that --body and --context set. Raises InvalidMemory."""
    content: dict[str, Any] = {}
    if arguments.body is not None:
        content.update(body_content(category, text_of(arguments.body, "--body")))
    if arguments.context is not None:
        content["context"] = text_of(arguments.context, "--context").strip()
    return content


def project_files(names: list[str], paths: Paths) -> list[str]:
    """Return paths relative to the project; they may be given relative to the current folder. Raises InvalidMemory."""
    return list(dict.fromkeys(_project_file(name, paths.project_root) for name in names))


def _project_file(path: str, root: str) -> str:
    forms = (path, _AROUND_PATH.sub("", path))
    for full in map(os.path.realpath, forms):
        if os.path.exists(full) and full.startswith(root + os.sep):
            return os.path.relpath(full, root).replace(os.sep, "/")
    path = _from_root(path, root).removeprefix(root + os.sep).replace(os.sep, "/")
    problem = files_problem(path) or (_ONE_EACH if ", " in path else "")
    place = os.path.normpath(path).replace(os.sep, "/") + "/"
    problem = _OUTSIDE if place.startswith(("/", "~", "../")) else problem
    if problem:
        raise InvalidMemory("--file: %s: %s" % (path, problem))
    return path


def _from_root(path: str, root: str) -> str:
    """Return a path or pattern as it is from the root, if it begins with `./` or with a folder that only the current folder has."""
    here, rest = os.path.realpath(os.curdir), path.removeprefix("./")
    if not here.startswith(root + os.sep):
        return path
    first = rest.partition("/")[0]
    is_only_here = os.path.isdir(os.path.join(here, first)) and not os.path.lexists(os.path.join(root, first))
    is_from_here = rest != path or (first != rest and is_only_here)
    return "%s/%s" % (os.path.relpath(here, root).replace(os.sep, "/"), rest) if is_from_here else path


def guard_of(arguments: Namespace, paths: Paths, present: object = None) -> dict[str, Any] | None:
    """Return the guard that the options describe, or None. What they omit is taken from the present guard.

    `none` empties a list, and a guard without files and commands is removed. An absolute path inside the worktree becomes a pattern
    relative to its root. Raises InvalidMemory.
    """
    fields = dict(present) if isinstance(present, dict) else {}
    root = paths.project_root.rstrip(os.sep)
    rules = [plain_rule(path, "files") for path in arguments.guard_files or ()]
    files = arguments.guard_files and [
        re.sub(r"\A/?%s[/\\]" % re.escape(root), "/", _from_root(rule, root)) for rule in rules
    ]
    options = {"commands": arguments.guard_commands, "files": files}
    for name, items in options.items():
        if items is not None:
            fields[name] = [item for item in items if item != NONE]
    if not fields.get("commands") and not fields.get("files"):
        if arguments.guard_action and not any(options.values()):
            raise InvalidMemory("--guard-action needs --guard-command or --guard-file")
        return None
    if arguments.guard_action:
        fields["action"] = arguments.guard_action
    guard = parse_guard(fields)
    return guard_json(guard) if guard else None
