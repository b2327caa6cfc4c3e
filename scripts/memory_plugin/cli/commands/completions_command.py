"""`memory completions`: print a shell completion script."""

from __future__ import annotations

import argparse
from importlib import import_module
from typing import TYPE_CHECKING

from ..command_context import add_common_options
from ..completion_scripts import SHELLS, completion_script

if TYPE_CHECKING:
    from ..command_context import CommandContext

__all__ = ["EXAMPLES", "HELP", "configure", "run"]

HELP = "print a completion script for bash, zsh or fish"
EXAMPLES = """\
  memory completions bash > ~/.local/share/bash-completion/completions/memory
  memory completions zsh > ~/.zfunc/_memory
  memory completions fish > ~/.config/fish/completions/memory.fish
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the shell."""
    parser.add_argument("shell", choices=SHELLS, metavar="SHELL", help="one of " + ", ".join(SHELLS))


def run(arguments: argparse.Namespace, context: CommandContext) -> int:
    """Print the script."""
    from ..main import COMMANDS, GROUPS

    helps, words = {}, {}
    for name in (name for group in GROUPS.values() for name in group):
        module = import_module("." + COMMANDS[name], __package__)
        parser = argparse.ArgumentParser(add_help=False)
        add_common_options(parser)
        module.configure(parser)
        helps[name] = module.HELP
        words[name] = _words(parser)
    text = completion_script(arguments.shell, helps, words)
    if arguments.json:
        context.console.json({"shell": arguments.shell, "script": text})
    else:
        context.console.verbatim(text.rstrip("\n"))
    return 0


def _words(parser: argparse.ArgumentParser) -> list[str]:
    """Return the long options of a command, and its subcommands or choices."""
    found = ["--help"]
    for action in parser._actions:  # noqa: SLF001 (argparse has no public way to list them)
        found += [option for option in action.option_strings if option.startswith("--")]
        if not action.option_strings and action.choices is not None:
            found += [str(choice) for choice in action.choices]
    return list(dict.fromkeys(found))
