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
from ..kernel.paths import own_script, read_state

# The tiers of the help; only those of every day have a line each.
DAILY, SHARING, MORE = "every day", "sharing", "more"
NAME = "memory"
_MARKETPLACES = "known_marketplaces.json"


class Command(NamedTuple):
    """A command of one or two words.

    `module` begins the name of its module in `cli/commands`. `group` is its tier in the help; empty for one that is listed with its first
    word, or that only hooks start. `asks` says whether its module has a function `approval`, which decides for the arguments, and
    `prompts` whether it may ask in a terminal or shows progress of its own, so that no heartbeat is shown around it. Commands that hooks
    start run in the `background`: they find, propose and grade, and approve nothing. `about` says in a word or two what a command of the
    last tier is for.
    """

    name: str
    module: str
    group: str = ""
    asks: bool = False
    prompts: bool = False
    background: bool = False
    about: str = ""

    @property
    def noun(self) -> str:
        """Return the first word of the name."""
        return self.name.split()[0]

    @property
    def second(self) -> str:
        """Return the second word of the name; empty if there is none."""
        return self.name.partition(" ")[2]


TABLE = (
    Command("save", "save", DAILY, prompts=True),
    Command("search", "search", DAILY, prompts=True),
    Command("show", "show", DAILY),
    Command("list", "show", DAILY),
    Command("edit", "save", DAILY, asks=True, prompts=True),
    Command("forget", "forget", DAILY, asks=True, prompts=True),
    Command("review", "review", DAILY, prompts=True),
    Command("accept", "accept", SHARING, asks=True, prompts=True),
    Command("status", "status", DAILY),
    Command("why", "why", DAILY),
    Command("feedback", "why", MORE, asks=True, about="ratings"),
    Command("doctor", "status", DAILY),
    Command("restore", "forget", MORE, asks=True, prompts=True, about="undo forget"),
    Command("reject", "accept", SHARING, asks=True, prompts=True),
    Command("guards", "show", SHARING),
    Command("guards test", "show"),
    Command("import", "import", SHARING, prompts=True),
    Command("import promote", "import", asks=True, prompts=True),
    Command("capture", "review", SHARING, asks=True, prompts=True),
    Command("check", "check", SHARING),
    Command("check text", "check", prompts=True),
    Command("check secrets", "check"),
    Command("check phrases", "check", asks=True, prompts=True),
    Command("demo", "demo", MORE, about="a sample"),
    Command("report", "report", MORE, prompts=True, about="the last weeks"),
    Command("report replay", "report"),
    Command("replies", "replies", MORE, about="filler"),
    Command("replies score", "replies", prompts=True),
    Command("replies history", "replies"),
    Command("replies tune", "replies", asks=True),
    Command("session", "session", MORE, asks=True, prompts=True, about="past work, grades"),
    Command("session calibrate", "session_scores", prompts=True),
    Command("session langfuse", "session_scores", asks=True),
    Command("interview", "interview", MORE, prompts=True, about="questions"),
    Command("evaluate", "evaluate", MORE, prompts=True, about="gates, jury"),
    Command("evaluate rules", "evaluate", prompts=True),
    Command("judge", "judge", MORE, asks=True, prompts=True, about="small models"),
    Command("config", "config", MORE, asks=True, prompts=True, about="settings"),
    Command("config statusline", "config", asks=True, prompts=True),
    Command("config completions", "config", prompts=True),
    Command("refresh", "plugin", background=True),
    Command("background", "plugin", prompts=True, background=True),
    Command("settle", "plugin", prompts=True, background=True),
    Command("describe", "plugin", prompts=True),
)
COMMANDS = {command.name: command for command in TABLE}


def command_of(words: Sequence[str]) -> Command | None:
    """Return the command that words begin with; None for no command."""
    return COMMANDS.get(" ".join(words[:2])) or COMMANDS.get(" ".join(words[:1]))


def second_words(noun: str) -> list[str]:
    """Return the second words of the commands that begin with a noun."""
    return [row.second for row in TABLE if row.noun == noun and row.second]


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
