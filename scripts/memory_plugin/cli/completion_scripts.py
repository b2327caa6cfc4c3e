"""Shell completion scripts for bash, zsh and fish, generated from the parser's own tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["SHELLS", "completion_script"]

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


def completion_script(shell: str, commands: Mapping[str, str], options: Mapping[str, Sequence[str]]) -> str:
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
