"""The table of commands in docs/architecture.md, made from their help. Run as a script, this updates the table."""

from __future__ import annotations

import os
import re
import sys
from importlib import import_module

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PAGE = os.path.join(ROOT, "docs", "architecture.md")
_HEAD = "| command | what it does |\n| --- | --- |\n"


def table() -> str:
    """Return the table's rows, in the order of the help."""
    from memory_plugin.cli.command_line import COMMANDS

    helps = {
        name: import_module("memory_plugin.cli.commands." + module).HELP for name, module in COMMANDS.items()
    }
    return "".join("| `memory %s` | %s |\n" % row for row in helps.items())


def with_table(text: str) -> str:
    """Return the page's text with the current table."""
    return re.sub(re.escape(_HEAD) + r"(\|.*\n)*", lambda _: _HEAD + table(), text, count=1)


if __name__ == "__main__":
    sys.path.insert(0, os.path.join(ROOT, "scripts"))
    with open(PAGE, encoding="utf-8") as file:
        content = with_table(file.read())
    with open(PAGE, "w", encoding="utf-8") as file:
        file.write(content)
    sys.stdout.write("written: docs/architecture.md\n")
