"""Decide which commands a shell command line runs, and whether a guarded command is one of them.

A command that runs another one, such as `sudo`, `env`, `xargs` or `bash -c`, counts as both. Which commands these are, and what their
options mean, is data: `config/memories/command_prefixes.json`.

A command is guarded if it begins with the first word of the guard (base names are compared) and its subcommand, and has the other words
in the same order. Options may be in any order, bundled (`-uf`), repeated, or have a value; `config/memories/command_options.json` holds
what must be known about programs.
"""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from functools import cache
from itertools import islice

from ..kernel.paths import load_data
from .guard_file import advice_for
from .shell_commands import SimpleCommand, shell_commands

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

# Nested prefixes and nested shell texts. Each level reads the rest of the line again.
_MAX_LEVELS = 8
_EXECUTABLE = ".exe"
# A longer command line is a program; checking the rest would only use up the call's time.
_MAX_COMMANDS = 20_000
_OFF = ("no", "false", "off", "0")  # values that switch an option off
# A substitution in the subscript of a quoted word, which `[[`, `test`, `let`, `printf -v` and other arithmetic run.
_SUBSCRIPT = re.compile(r"\w\[[^]]{0,200}(?:\$\([^])]|`[^]`]+`)")
_ANY = "*"
# A short option or several, with a value or not; longer words after one hyphen are names, as in `-target`.
_BUNDLE = re.compile(r"-([^\W\d_]{1,4})(?![^\W\d_]|[=-])")
_END_OF_OPTIONS = "--"
# What may be before and behind a path that stays the same.
_AROUND_PATH = re.compile(r"\A\./(?=.)|(?<=.)/+\Z")
_VERSION = re.compile(r"(?<=.)@.*|(?<=\Apython)3(?:\.\d+)?\Z|(?<=\Apip)3(?:\.\d+)?\Z")
_ONE_COMMAND = "leave out |, &&, >, = and $(...)"


def guard_words(pattern: str) -> list[str]:
    """Return the words of a guard's command, the first as a base name; empty unless it is one simple command, which it covers."""
    commands = shell_commands("run " + pattern)
    if len(commands) != 1 or commands[0].redirections or len(commands[0].words) < 2:
        return []
    program, *arguments = commands[0].words[1:]
    words = [base_name(program), *map(_plain_path, arguments)]
    words = ["*%s*" % word if " " in word else word for word in words]  # a text in quotes, or a part of one
    return words if words[0] and _ANY not in program and run_by(pattern, [words]) else []


def command_problem(pattern: str) -> str:
    """Return how to fix a guard's command that would cover no call; empty for a valid one."""
    return advice_for("commands", pattern) or ("" if guard_words(pattern) else _ONE_COMMAND)


def _plain_path(word: str) -> str:
    return _AROUND_PATH.sub("", word)


def _fits(word: str, written: str) -> bool:
    """Return whether a word is the one of a guard, in which `*` stands for any characters."""
    return word == written or (_ANY in written and fnmatchcase(word, written.replace("[", "[[]")))


def run_by(text: str, guards: Sequence[Sequence[str]]) -> set[int]:
    """Return the indices of those `guards` (each a list of words) that a command line runs."""
    names = {words[0] for words in guards}
    matches: set[int] = set()
    for command in islice(run_commands(text), _MAX_COMMANDS):
        if (name := base_name(command[0])) in names:
            due = (at for at, words in enumerate(guards) if words[0] == name and at not in matches)
            matches.update([at for at in due if _covers(command, guards[at])])
    return matches


def other_spellings(pattern: str) -> list[str]:
    """Return the guards that hold the same command with the short or the long form of an option, such as `-f` for `--force`."""
    words = guard_words(pattern)
    found = []
    for command, *names in _options("same") if words else ():
        given = [name for name in names if name in words]
        if words[: len(command.split())] == command.split() and len(given) == 1:
            other = names[1 - names.index(given[0])]
            found.append(" ".join(other if word == given[0] else word for word in words))
    return found


@cache
def _options(name: str) -> Any:  # noqa: ANN401  (a list or a table of the data file)
    return load_data("memories", "command_options")[name]["values"]


def _covers(command: list[str], words: Sequence[str]) -> bool:
    """Return whether a command has the subcommand of a guard, and its other words after that."""
    at, program = 1, words[0]
    second = words[1] if words[1:] else ""
    has_subcommand = second[:1] != "-" and second.rstrip(_ANY).replace("-", "").replace("_", "").isalnum()
    if has_subcommand and "." not in program and program not in _options("operands_only"):
        at = _after_subcommand(command, second)
    with_value = _options("with_value").get(program, "")
    # As in Claude Code's rules, a `*` of its own stands for any words, also none.
    others = [word for word in words[1 if at == 1 else 2 :] if word != _ANY]
    return at > 0 and _contain([*map(_plain_path, command[at:])], others, with_value)


def _after_subcommand(command: list[str], name: str) -> int:
    """Return the position after a subcommand, 0 if the command has another one; only options and their values come before it."""
    for at in range(1, len(command)):
        if _fits(command[at], name):
            return at + 1
        if command[at][:1] not in ("-", "+") and (at == 1 or command[at - 1][:1] != "-"):
            break
    return 0


def _contain(arguments: Sequence[str], words: Sequence[str], with_value: str) -> bool:
    """Return whether all words of a guard are there: operands in their order, options anywhere, also as `--option=value`."""
    found, options, letters = _read(arguments, with_value)
    operands = iter(found)  # consumed by `in` and `any`, which keeps the order
    end = words.index(_END_OF_OPTIONS) if _END_OF_OPTIONS in words else len(words)
    for at, (before, word) in enumerate(zip(["", *words], words)):
        if word[:1] == "-" and len(word) > 1 and at < end:
            name, _, value = word.partition("=")
            given = any(_fits(option, word) for option in options)
            has_option = given or (value and name in options and value in operands)
            if not has_option and not (_BUNDLE.fullmatch(word) and letters.issuperset(word[1:])):
                return False
        elif any(_fits(option, word if word[:2] == "*-" else "%s=%s" % (before, word)) for option in options):
            continue
        elif not any(_fits(operand, word) for operand in operands):
            return False
    return True


def _read(arguments: Sequence[str], with_value: str) -> tuple[list[str], set[str], set[str]]:
    """Return the operands in order, the options as written and without their values, and the letters of short options."""
    operands, options, letters = list[str](), set[str](), set[str]()
    before = ""  # the option whose value this word is
    for at, word in enumerate(arguments):
        if before:
            options.add("%s=%s" % (before, word))
            before = ""
        elif word == _END_OF_OPTIONS:
            operands += arguments[at:]
            break
        elif word[:1] == "-" and len(word) > 1:
            name, _, value = word.partition("=")
            options |= {word} if value.lower() in _OFF else {word, name}
            if bundle := _BUNDLE.match(word):
                # A letter with a value takes the rest of the bundle, or the next word.
                end = next((end for end, letter in enumerate(bundle[1], 2) if letter in with_value), None)
                letters.update(word[1 : end or bundle.end()])
                before = "-" + word[-1] if end == len(word) else ""
        else:
            operands.append(word)
    return operands, options, letters


def base_name(word: str) -> str:
    """Return the name of a program without its folder, `.exe`, and the version of a package or of Python 3."""
    name = _VERSION.sub("", word.rpartition("/")[2])
    return name[: -len(_EXECUTABLE)] if name.lower().endswith(_EXECUTABLE) else name


def run_commands(text: str, level: int = 0) -> Iterator[list[str]]:
    """Yield the words of each command that a shell text runs: as written, and with its prefixes removed one by one."""
    for command in shell_commands(text, level):
        yield from _with_inner(command.words, command, level)
        for word in command.words if level < _MAX_LEVELS else ():
            if _SUBSCRIPT.search(word):
                yield from run_commands(word, level + 1)


@cache
def _table() -> dict[str, list[dict[str, Any]]]:
    """Return the prefix definitions by program name; a program may have several forms."""
    table: dict[str, list[dict[str, Any]]] = {}
    for prefix in load_data("memories", "command_prefixes")["prefixes"]:
        for name in prefix["names"]:
            table.setdefault(name, []).append(prefix)
    return table


def _with_inner(words: list[str], command: SimpleCommand, level: int) -> Iterator[list[str]]:
    yield words
    if level >= _MAX_LEVELS:
        return
    for prefix in _table().get(base_name(words[0]), ()):
        inner, texts = _inner(words, prefix, command)
        for part in inner:
            yield from _with_inner(part, command, level + 1)
        for text in texts:
            yield from run_commands(text, level + 1)


def unwrapped(words: list[str]) -> list[str]:
    """Return the words of the command that others, such as `sudo` or `uv run`, run in their place."""
    prefixes = (prefix for prefix in _table().get(base_name(words[0]), ()) if "kind" not in prefix)
    run = filter(None, (_after_prefix(words, prefix)[0] for prefix in prefixes))
    return next(map(unwrapped, run), words)


def _inner(
    words: list[str], prefix: dict[str, Any], command: SimpleCommand
) -> tuple[list[list[str]], list[str]]:
    """Return the commands and the shell texts that a command with a prefix runs."""
    kind, count = prefix.get("kind", "runs"), prefix.get("texts")
    if kind == "exec":
        return _after_markers(words, prefix["markers"]), []
    rest, texts = _after_prefix(words, prefix)
    if kind == "shell":
        # The text after `-c`, else the script, else the input.
        options = words[1 : len(words) - len(rest)]
        letters = "".join(word[1:] for word in options if word[:1] == "-" and word[1:2] != "-")
        if "c" in letters:
            return [], texts + rest[:1]
        return ([rest], texts) if rest and "s" not in letters else ([], texts + command.inputs)
    if kind == "runs" or not rest:
        return [rest] if rest else [], texts
    # Without a number of texts, all operands together are one.
    return [], texts + ([" ".join(rest)] if count is None else rest[:count] if len(rest) > count else [])


def _after_markers(words: list[str], markers: list[str]) -> list[list[str]]:
    """Return the commands between a marker such as `-exec` and the `;` or `+` that ends it."""
    commands: list[list[str]] = []
    is_inside = False
    for word in words[1:]:
        if is_inside and word not in (";", "+"):
            commands[-1].append(word)
        elif is_inside:
            is_inside = False
        elif word in markers:
            commands.append([])
            is_inside = True
    return list(filter(None, commands))


def _after_prefix(words: list[str], prefix: dict[str, Any]) -> tuple[list[str], list[str]]:
    """Return the words after a prefix's own options and operands (empty if it runs nothing), and the shell texts in its options."""
    lookups, values, codes = (prefix.get(name, ()) for name in ("lookups", "values", "codes"))
    subcommands, operands = prefix.get("subcommand"), int(prefix.get("operands", 0))
    texts: list[str] = []
    at = 1
    while at < len(words):
        word = words[at]
        if word == _END_OF_OPTIONS and not subcommands:
            return words[at + 1 :][operands:], texts
        if word[:1] in ("-", "+") and len(word) > 1:
            option, value, at = _option(words, at, (*lookups, *values, *codes))
            if option in lookups:
                return [], []
            if value and option in codes:
                texts.append(value)
            continue
        if subcommands:
            if word not in subcommands:
                return [], []
            subcommands = None
        elif word != "-" and not (prefix.get("assignments") and _assigns(word)):
            if not operands and prefix.get("texts") != 0:
                return words[at:], texts
            operands = max(0, operands - 1)
        at += 1
    return [], texts


def _assigns(word: str) -> bool:
    name, sign, _ = word.partition("=")
    return bool(sign) and name.isidentifier()


def _option(words: list[str], at: int, valued: tuple[str, ...]) -> tuple[str, str, int]:
    """Return the option with a value in a word, its value, which may be the next word, and the position after both.

    The option is empty if the word holds no option with a value.
    """
    word, following = words[at], "".join(words[at + 1 : at + 2])
    if word in valued:
        return word, following, at + 2
    name, _, value = word.partition("=")
    if word[:2] == "--":
        return (name if name in valued else ""), value, at + 1
    for end, letter in enumerate(word[1:], 2):
        if word[0] + letter in valued:
            option, rest = word[0] + letter, word[end:]
            return (option, rest, at + 1) if rest else (option, following, at + 2)
    return "", "", at + 1
