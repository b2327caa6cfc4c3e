"""The commands of `memory`, one row each, and how our own program is recognized: by its path, through links and on the PATH.

The help, completions, the hook that asks for approval and the heartbeat read the table.

To add a command: a row here and a module `cli/commands/NAME_command.py`, with underscores for spaces; several commands that belong together
share one, which each row names.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import NamedTuple

from ..kernel.fastjson import as_object, as_text
from ..kernel.paths import read_state

# The tiers of the help; only those of every day have a line each.
DAILY, SHARING, MORE = "every day", "sharing", "more"
NAME = "memory"
_MARKETPLACES = "known_marketplaces.json"


class Command(NamedTuple):
    """A command of one or two words.

    `group` is its tier in the help; empty for one that is listed with its first word, or that only hooks start. `asks` says whether its
    module has a function `approval`, which decides for the arguments, and `prompts` whether it may ask in a terminal or shows progress
    of its own, so that no heartbeat is shown around it. Commands that hooks start run in the `background`: they find, propose and grade,
    and approve nothing. `about` says in a word or two what a command of the last tier is for. `shared` is the module that several
    commands share; empty for a command that has one of its own.
    """

    name: str
    group: str = ""
    asks: bool = False
    prompts: bool = False
    background: bool = False
    about: str = ""
    shared: str = ""

    @property
    def module(self) -> str:
        """Return the name of its module in `cli/commands`."""
        return "%s_command" % (self.shared or self.name.replace(" ", "_"))

    @property
    def noun(self) -> str:
        """Return the first word of the name."""
        return self.name.split()[0]

    @property
    def second(self) -> str:
        """Return the second word of the name; empty if there is none."""
        return self.name.partition(" ")[2]


TABLE = (
    Command("save", DAILY, prompts=True, shared="save"),
    Command("search", DAILY, prompts=True),
    Command("show", DAILY, shared="show"),
    Command("list", DAILY, shared="show"),
    Command("edit", DAILY, asks=True, prompts=True, shared="save"),
    Command("forget", DAILY, asks=True, prompts=True, shared="forget"),
    Command("review", DAILY, prompts=True, shared="review"),
    Command("accept", SHARING, asks=True, prompts=True, shared="accept"),
    Command("status", DAILY, shared="status"),
    Command("why", DAILY, shared="why"),
    Command("feedback", MORE, asks=True, about="ratings", shared="why"),
    Command("doctor", DAILY, shared="status"),
    Command("restore", MORE, asks=True, prompts=True, about="undo forget", shared="forget"),
    Command("reject", SHARING, asks=True, prompts=True, shared="accept"),
    Command("guards", SHARING, shared="show"),
    Command("import", SHARING, prompts=True, shared="import"),
    Command("import promote", asks=True, prompts=True, shared="import"),
    Command("capture", SHARING, asks=True, prompts=True, shared="review"),
    Command("check", SHARING, shared="check"),
    Command("check text", prompts=True, shared="check"),
    Command("check secrets", shared="check"),
    Command("check phrases", asks=True, prompts=True, shared="check"),
    Command("demo", MORE, about="a sample"),
    Command("report", MORE, prompts=True, about="the last weeks", shared="report"),
    Command("report replay", shared="report"),
    Command("replies", MORE, about="filler", shared="replies"),
    Command("replies score", prompts=True, shared="replies"),
    Command("replies history", shared="replies"),
    Command("replies tune", asks=True, shared="replies"),
    Command("session", MORE, asks=True, prompts=True, about="past work, grades"),
    Command("session calibrate", prompts=True, shared="session_scores"),
    Command("session langfuse", asks=True, shared="session_scores"),
    Command("interview", MORE, prompts=True, about="questions"),
    Command("evaluate", MORE, prompts=True, about="gates, jury", shared="evaluate"),
    Command("evaluate rules", prompts=True, shared="evaluate"),
    Command("judge", MORE, asks=True, prompts=True, about="small models"),
    Command("config", MORE, asks=True, prompts=True, about="settings", shared="config"),
    Command("config statusline", asks=True, prompts=True, shared="config"),
    Command("config completions", prompts=True, shared="config"),
    Command("refresh", background=True, shared="plugin"),
    Command("background", prompts=True, background=True, shared="plugin"),
    Command("settle", prompts=True, background=True, shared="plugin"),
    Command("describe", prompts=True, shared="plugin"),
)
COMMANDS = {command.name: command for command in TABLE}


def command_of(words: Sequence[str]) -> Command | None:
    """Return the command that words begin with; None for no command."""
    return COMMANDS.get(" ".join(words[:2])) or COMMANDS.get(" ".join(words[:1]))


def second_words(noun: str) -> list[str]:
    """Return the second words of the commands that begin with a noun."""
    return [row.second for row in TABLE if row.noun == noun and row.second]


def own_script() -> str:
    """Return the path of our program in Python."""
    scripts = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
    return os.path.join(scripts, "memory.py")


def first_on_path(folder: str = "") -> str:
    """Return the first `memory` on the PATH, whose relative places start at `folder`; empty if there is none."""
    found = (os.path.join(folder, place, NAME) for place in os.get_exec_path())
    return next(filter(os.path.isfile, found), "")


def is_own(program: str, folder: str = "") -> bool:
    """Return whether a program is the one in this plugin's folder or in its marketplace, where README's link on the PATH leads.

    A relative path starts at `folder`.
    """
    script = own_script()
    root = os.path.dirname(os.path.dirname(script))
    own = os.path.join(root, "bin", NAME)
    if program == NAME:
        program = first_on_path(folder) or own  # only commands have our folder on their PATH
    target = os.path.realpath(os.path.join(folder, program))
    # Most lines that say "memory" run another program; only for one of this name are the marketplaces read.
    return target in (own, script) or (os.path.basename(target) == NAME and target == _in_marketplace(root))


def _in_marketplace(root: str) -> str:
    """Return the path of `bin/memory` in the marketplace that the plugin in this folder is from; empty if there is none.

    Claude Code copies a plugin to `plugins/cache/MARKETPLACE/PLUGIN/VERSION`; `plugins/known_marketplaces.json` names the
    folder of each marketplace.
    """
    cache, marketplace = os.path.split(os.path.dirname(os.path.dirname(root)))
    plugins, name = os.path.split(cache)
    if name != "cache":
        return ""
    known = read_state(os.path.join(plugins, _MARKETPLACES))
    place = as_text(as_object(known.get(marketplace)).get("installLocation"))
    return os.path.realpath(os.path.join(place, "bin", NAME)) if place else ""
