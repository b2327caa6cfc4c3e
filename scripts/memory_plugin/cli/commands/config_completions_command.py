"""`memory config completions`: a completion script for the shell, which asks the command for the words that may come next."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from ...host.commands import TABLE, command_of, second_words
from ..command_context import CommandContext
from ..command_line import module_of
from ..options import add_common_options

HELP = "print a completion script for bash, zsh or fish"
EXAMPLES = """\
  memory config completions bash > ~/.local/share/bash-completion/completions/memory
  memory config completions zsh > ~/.zfunc/_memory
  memory config completions fish > ~/.config/fish/completions/memory.fish
"""

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
    """Declare the shell, and the words before the cursor, with which the script calls the command again."""
    parser.add_argument(
        "shell", choices=(*SHELLS, _WORDS), metavar="SHELL", help="one of " + ", ".join(SHELLS)
    )
    parser.add_argument("words", nargs="*", help=argparse.SUPPRESS)


def run(arguments: argparse.Namespace, context: CommandContext) -> None:
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
        return [command.name for command in TABLE if command.group]
    command = command_of(words)
    found = ["--help", *second_words(words[0])]
    parser = argparse.ArgumentParser(add_help=False)
    add_common_options(parser)
    if command is not None and hasattr(module_of(command.name), "configure"):
        module_of(command.name).configure(parser)
    for action in parser._actions:  # noqa: SLF001 (argparse has no public way to list them)
        found += [option for option in action.option_strings if option.startswith("--")]
        found += [] if action.option_strings else map(str, action.choices or ())
    return list(dict.fromkeys(found))
