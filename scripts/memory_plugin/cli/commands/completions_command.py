"""`memory completions`: print a completion script for bash, zsh or fish, generated from the parser's own tables."""

from __future__ import annotations

import argparse
from importlib import import_module
from typing import TYPE_CHECKING

from ..options import add_common_options

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ..command_context import CommandContext

HELP = "print a completion script for bash, zsh or fish"
EXAMPLES = """\
  memory completions bash > ~/.local/share/bash-completion/completions/memory
  memory completions zsh > ~/.zfunc/_memory
  memory completions fish > ~/.config/fish/completions/memory.fish
"""
SHELLS = ("bash", "zsh", "fish")
_BASH = """\
# memory completions bash > ~/.local/share/bash-completion/completions/memory
_memory() {
    local word=${COMP_WORDS[COMP_CWORD]} words
    case "${COMP_WORDS[1]}" in
%(cases)s
    esac
    if [ "$COMP_CWORD" -eq 1 ]; then words="%(commands)s"; fi
    COMPREPLY=($(compgen -W "$words" -- "$word"))
    if [ "${#COMPREPLY[@]}" -eq 0 ]; then COMPREPLY=($(compgen -f -- "$word")); fi
}
complete -F _memory memory
"""
_ZSH = """\
#compdef memory
# memory completions zsh > a folder of your $fpath, as _memory
_memory() {
    local -a commands words
    commands=(
%(described)s
    )
    if (( CURRENT == 2 )); then _describe command commands; return; fi
    case "$words[2]" in
%(cases)s
    esac
    _files
}
_memory "$@"
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the shell."""
    parser.add_argument("shell", choices=SHELLS, metavar="SHELL", help="one of " + ", ".join(SHELLS))


def run(arguments: argparse.Namespace, context: CommandContext) -> None:
    """Print the script."""
    from ..main import COMMANDS, GROUPS

    helps, words = {}, {}
    for name in (name for group in GROUPS.values() for name in group):
        module = import_module("." + COMMANDS[name], __package__)
        parser = argparse.ArgumentParser(add_help=False)
        add_common_options(parser)
        if hasattr(module, "configure"):
            module.configure(parser)
        helps[name] = module.HELP
        words[name] = _words(parser)
    script = _completion_script(arguments.shell, helps, words)
    if arguments.json:
        context.console.json({"shell": arguments.shell, "script": script})
    else:
        context.console.verbatim(script.rstrip("\n"))


def _words(parser: argparse.ArgumentParser) -> list[str]:
    """Return the long options of a command, and its subcommands or choices."""
    words = ["--help"]
    for action in parser._actions:  # noqa: SLF001 (argparse has no public way to list them)
        words += [option for option in action.option_strings if option.startswith("--")]
        if not action.option_strings and action.choices is not None:
            words += [str(choice) for choice in action.choices]
    return list(dict.fromkeys(words))


def _completion_script(shell: str, commands: Mapping[str, str], options: Mapping[str, Sequence[str]]) -> str:
    """Return the script for one of SHELLS, given each command's help text and its completions (options and actions)."""
    if shell == "fish":
        return _fish(commands, options)
    if shell == "bash":
        cases = "\n".join('        %s) words="%s" ;;' % (name, " ".join(options[name])) for name in commands)
        return _BASH % {"cases": cases, "commands": " ".join(commands)}
    described = "\n".join("        '%s:%s'" % (name, _quoted(text)) for name, text in commands.items())
    cases = "\n".join("        %s) compadd -- %s ;;" % (name, " ".join(options[name])) for name in commands)
    return _ZSH % {"described": described, "cases": cases}


def _fish(commands: Mapping[str, str], options: Mapping[str, Sequence[str]]) -> str:
    lines = ["# memory completions fish > ~/.config/fish/completions/memory.fish"]
    for name, text in commands.items():
        lines.append("complete -c memory -n __fish_use_subcommand -f -a %s -d '%s'" % (name, _quoted(text)))
        for word in options[name]:
            kind = "-l %s" % word[2:] if word.startswith("--") else "-a %s" % word
            lines.append("complete -c memory -n '__fish_seen_subcommand_from %s' %s" % (name, kind))
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    """Return a help text that is safe between single quotes."""
    return text.replace("'", "\u2019").replace("\\", "").replace(":", ",")
