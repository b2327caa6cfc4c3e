"""Recognize our own program `memory`, by its path, through links and on the PATH."""

from __future__ import annotations

import os
from typing import Any

from ..kernel.fastjson import loads
from ..kernel.files import read_regular

NAME = "memory"
_MARKETPLACES = "known_marketplaces.json"
_MAX_BYTES = 1 << 20


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
    try:
        text = read_regular(os.path.join(plugins, _MARKETPLACES), _MAX_BYTES)[0].decode("utf-8")
        known: Any = loads(text)
        return os.path.realpath(os.path.join(known[marketplace]["installLocation"], "bin", NAME))
    except (OSError, ValueError, KeyError, TypeError):
        return ""
