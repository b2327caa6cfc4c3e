"""`memory config statusline`: a summary for Claude Code's status line. `memory config completions`: a script for the shell.

The script asks the command for the words that may come next.
"""

from __future__ import annotations

import argparse
import os
import shutil
from collections.abc import Sequence
from shlex import quote
from types import SimpleNamespace
from typing import Any

from ...kernel.data import read_state, write_state
from ...kernel.files import make_folder, replace_file
from ...kernel.paths import Paths
from ...kernel.settings.user_file import EditError, change_content
from ...kernel.settings.values import SettingsFileError, content
from ...work.status_line import BEFORE, FOLDER, script_path, script_text, status_text
from ..after_change import current_counts, prepare_counts
from ..command_context import Approval, CommandContext, CommandError
from ..command_line import COMMANDS, LISTED, module_of, second_words
from ..options import add_common_options

HELP = "print a line for Claude Code's status line: memories, shown in this session, pending"
EXAMPLES = """\
  memory config statusline
  memory config statusline install      adds it to your settings, after your current status line
  memory config statusline remove
"""
_NAME = "statusLine"
_BACKUP = "before.json"
_WORDS = "words"
_SCRIPTS = {
    "bash": """\
# memory config completions bash > ~/.local/share/bash-completion/completions/memory
_memory() {
    local words=$("${COMP_WORDS[0]}" config completions words -- "${COMP_WORDS[@]:1:COMP_CWORD-1}" 2>/dev/null)
    COMPREPLY=($(compgen -W "$words" -- "${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _memory memory
""",
    "zsh": """\
#compdef memory
# memory config completions zsh > a folder of your $fpath, as _memory
compadd -- $(memory config completions words -- ${words[2,CURRENT-1]} 2>/dev/null) || _files
""",
    "fish": """\
# memory config completions fish > ~/.config/fish/completions/memory.fish
complete -c memory -a '(memory config completions words -- (commandline -opc)[2..-1] 2>/dev/null)'
""",
}
SHELLS = tuple(_SCRIPTS)


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the action."""
    parser.add_argument(
        "action", nargs="?", choices=("show", "install", "remove"), default="show", help="default: show"
    )


def approval(arguments: argparse.Namespace, context: CommandContext) -> Approval | None:  # noqa: ARG001  (every command gets the same arguments)
    """Return the change of the status line; None for printing it."""
    return None if arguments.action == "show" else Approval("%s the status line?" % arguments.action)


def run(arguments: argparse.Namespace, context: CommandContext) -> None:
    """Print the line, or change the user's settings."""
    if arguments.action != "show":
        try:
            (_install if arguments.action == "install" else _remove)(context)
        except EditError as error:
            raise CommandError(str(error)) from None
        return
    line = status_text(context.paths, context.session, current_counts(context))
    if arguments.json:
        context.console.json({"line": line})
    else:
        context.console.verbatim(line)


def _install(context: CommandContext) -> None:
    paths = context.paths
    current = _status_line(paths)
    command = _command(paths)
    if current is not None and current.get("command") != command:
        _back_up(current, paths)
    make_folder(paths.state(FOLDER))
    replace_file(script_path(paths), script_text(paths).encode("utf-8"))
    prepare_counts(context)
    value: dict[str, Any] = {**(current or {}), "type": "command", "command": command}
    change = change_content(paths.config_dir, lambda content: content.update({_NAME: value}))
    done = "Installed" if change.changed else "Already installed"
    order = " Your own status line comes first." if os.path.exists(paths.state(FOLDER, BEFORE)) else ""
    text = "%s in %s.%s To remove it: memory config statusline remove"
    context.console.paragraph(text % (done, change.path, order))


def _back_up(current: dict[str, Any], paths: Paths) -> None:
    """Save the user's current status line: it is shown before ours, and restored when ours is removed."""
    before = current.get("command")
    if current.get("type") != "command" or not isinstance(before, str):
        raise CommandError("nothing was changed: your settings have a status line of an unknown form")
    make_folder(paths.state(FOLDER))
    replace_file(paths.state(FOLDER, BEFORE), (before + "\n").encode("utf-8"))
    write_state(paths.state(FOLDER, _BACKUP), {"before": current}, durable=True)


def _remove(context: CommandContext) -> None:
    paths = context.paths
    current = _status_line(paths)
    if current is None or current.get("command") != _command(paths):
        context.console.line("This status line is not in your settings; nothing was changed there.")
    else:
        before = read_state(paths.state(FOLDER, _BACKUP)).get("before")
        change = change_content(
            paths.config_dir,
            lambda content: content.update({_NAME: before}) if before else content.pop(_NAME, None),
        )
        context.console.line("Removed from %s." % change.path)
    shutil.rmtree(paths.state(FOLDER), ignore_errors=True)


def _command(paths: Paths) -> str:
    return "sh " + quote(script_path(paths))


def _status_line(paths: Paths) -> dict[str, Any] | None:
    """Return the status line in the user's settings, or None. Raises CommandError for an unreadable file."""
    if paths.config_dir is None:
        raise CommandError(paths.why_no_state)
    path = os.path.join(paths.config_dir, "settings.json")
    try:
        value = content(path, follow=True).get(_NAME)
    except FileNotFoundError:
        return None
    except SettingsFileError as error:
        raise CommandError("%s: %s; fix the file first" % (path, error)) from None
    return value if isinstance(value, dict) else None


def _take_shell(parser: argparse.ArgumentParser) -> None:
    """Declare the shell, and the words before the cursor, with which the script calls the command again."""
    parser.add_argument(
        "shell", choices=(*SHELLS, _WORDS), metavar="SHELL", help="one of " + ", ".join(SHELLS)
    )
    parser.add_argument("words", nargs="*", help=argparse.SUPPRESS)


def _complete(arguments: argparse.Namespace, context: CommandContext) -> None:
    """Print the script, or the words that may come next."""
    if arguments.shell == _WORDS:
        context.console.verbatim("\n".join(_next_words(arguments.words)))
        return
    script = _SCRIPTS[arguments.shell]
    record = {"shell": arguments.shell, "script": script}
    context.console.result(arguments.json, record, *script.splitlines())


def _next_words(words: Sequence[str]) -> list[str]:
    """Return the commands, or the long options of a command and its second words or choices."""
    if not words:
        return list(LISTED)
    name = next((name for name in (" ".join(words[:2]), words[0]) if name in COMMANDS), "")
    found = ["--help", *second_words(words[0])]
    parser = argparse.ArgumentParser(add_help=False)
    add_common_options(parser)
    if name and hasattr(module_of(name), "configure"):
        module_of(name).configure(parser)
    for action in parser._actions:  # noqa: SLF001 (argparse has no public way to list them)
        found += [option for option in action.option_strings if option.startswith("--")]
        found += [] if action.option_strings else map(str, action.choices or ())
    return list(dict.fromkeys(found))


PARTS = {
    "config completions": SimpleNamespace(
        HELP="print a completion script for bash, zsh or fish",
        EXAMPLES="""\
  memory config completions bash > ~/.local/share/bash-completion/completions/memory
  memory config completions zsh > ~/.zfunc/_memory
  memory config completions fish > ~/.config/fish/completions/memory.fish
""",
        configure=_take_shell,
        run=_complete,
    )
}
