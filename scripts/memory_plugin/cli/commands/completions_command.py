"""`memory config completions`: print a completion script for bash, zsh or fish, generated from the parser's own tables."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence

from ..command_context import CommandContext
from ..command_line import LISTED, NOUNS, PAIRS, help_of, module_of, second_words
from ..options import add_common_options

HELP = "print a completion script for bash, zsh or fish"
EXAMPLES = """\
  memory config completions bash > ~/.local/share/bash-completion/completions/memory
  memory config completions zsh > ~/.zfunc/_memory
  memory config completions fish > ~/.config/fish/completions/memory.fish
"""
SHELLS = ("bash", "zsh", "fish")
_BASH = """\
# memory config completions bash > ~/.local/share/bash-completion/completions/memory
_memory() {
    local word=${COMP_WORDS[COMP_CWORD]} words
    case "${COMP_WORDS[1]} ${COMP_WORDS[2]}" in
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
# memory config completions zsh > a folder of your $fpath, as _memory
_memory() {
    local -a commands words
    commands=(
%(described)s
    )
    if (( CURRENT == 2 )); then _describe command commands; return; fi
    case "$words[2] $words[3]" in
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
    words = {name: _words(name) for name in (*PAIRS, *LISTED)}
    script = _completion_script(arguments.shell, {name: help_of(name) for name in LISTED}, words)
    if arguments.json:
        context.console.json({"shell": arguments.shell, "script": script})
    else:
        context.console.verbatim(script.rstrip("\n"))


def _words(name: str) -> list[str]:
    """Return the long options of a command, and its second words or choices."""
    words = ["--help", *second_words(name)]
    if name in NOUNS:
        return words
    module = module_of(name)
    parser = argparse.ArgumentParser(add_help=False)
    add_common_options(parser)
    if hasattr(module, "configure"):
        module.configure(parser)
    for action in parser._actions:  # noqa: SLF001 (argparse has no public way to list them)
        words += [option for option in action.option_strings if option.startswith("--")]
        if not action.option_strings and action.choices is not None:
            words += [str(choice) for choice in action.choices]
    return list(dict.fromkeys(words))


def _completion_script(shell: str, helps: Mapping[str, str], words: Mapping[str, Sequence[str]]) -> str:
    """Return the script for one of SHELLS, given the help of the first words, and the completions after each command."""
    if shell == "fish":
        return _fish(helps, words)
    # A name of two words comes before its first word alone, which matches any second word.
    patterns = {name: '"%s"' % name if " " in name else '"%s "*' % name for name in words}
    form = '        %s) words="%s" ;;' if shell == "bash" else "        %s) compadd -- %s ;;"
    cases = "\n".join(form % (patterns[name], " ".join(words[name])) for name in words)
    if shell == "bash":
        return _BASH % {"cases": cases, "commands": " ".join(helps)}
    described = "\n".join("        '%s:%s'" % (name, _quoted(text)) for name, text in helps.items())
    return _ZSH % {"described": described, "cases": cases}


def _fish(helps: Mapping[str, str], words: Mapping[str, Sequence[str]]) -> str:
    lines = ["# memory config completions fish > ~/.config/fish/completions/memory.fish"]
    for name, text in helps.items():
        lines.append("complete -c memory -n __fish_use_subcommand -f -a %s -d '%s'" % (name, _quoted(text)))
    for name, following in words.items():
        seen = "; and ".join("__fish_seen_subcommand_from " + word for word in name.split())
        for word in following:
            kind = "-l %s" % word[2:] if word.startswith("--") else "-a %s" % word
            lines.append("complete -c memory -n '%s' %s" % (seen, kind))
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    """Return a help text that is safe between single quotes."""
    return text.replace("'", "\u2019").replace("\\", "").replace(":", ",")
