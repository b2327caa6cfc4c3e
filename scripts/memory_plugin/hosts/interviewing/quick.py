"""`memory interview answer` without the command line's parser, which would double its cold start; everything else goes the usual way.

Claude calls it after each answer, so its time is waited for on each turn. What this form does not know is left to the parser.
"""

from __future__ import annotations

import gc
import os
import sys

from ...kernel.files import in_words
from ...kernel.native import dumps
from ...kernel.paths import locate
from ...kernel.settings.load import load
from ..caller import identify
from ..environment import launch_folder
from ..streams import open_closed, settled

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from ...kernel.paths import Places
    from ...kernel.settings.load import Settings
    from ..environment import Taint

__all__ = ["answer"]

_COMMAND = ["interview", "answer"]
_VALUES = ("--session", "--root")


class Quick:
    """What the actions need of a `Session` of the command line, and no more."""

    __slots__ = ("console", "id", "places", "settings", "taint")

    def __init__(self, places: Places, settings: Settings, taint: Taint, session: str) -> None:
        self.places, self.settings, self.taint = places, settings, taint
        self.id = session
        self.console = Plain()


class Plain:
    """The two streams, for JSON and for errors of one line."""

    def json(self, value: object) -> None:
        """Print one JSON document."""
        sys.stdout.write(dumps(value) + "\n")

    def error(self, text: str) -> None:
        """Print one line for the user."""
        sys.stderr.write("memory: %s\n" % " ".join(text.split())[:2000])


class Arguments:
    """What the parser would have made of the words."""

    __slots__ = ("action", "json", "root", "session")

    def __init__(self, root: str, session: str) -> None:
        self.action, self.json, self.root, self.session = _COMMAND[1], True, root, session


def answer(argv: Sequence[str]) -> int | None:
    """The exit code of `interview answer --json`; None, with nothing done, when the words are not just that."""
    given = _arguments(list(argv))
    if given is None or (given.root and not os.path.isdir(given.root)):
        return None
    gc.disable()  # the process ends before there is anything worth collecting
    caller = identify()
    caller.settle_folders()
    try:
        root = os.path.abspath(given.root) if given.root else launch_folder()
    except FileNotFoundError:  # the folder that we are in
        return None
    if os.path.basename(root) == "memory":  # may be the store rather than the project
        return None
    open_closed()
    taint = caller.settle(root)
    places = locate(root)
    session: Any = Quick(places, load(places.config_dir, places.project_root), taint, caller.session)
    arguments: Any = given
    from .talk import DEEDS

    try:
        return settled(DEEDS[_COMMAND[1]](arguments, session))
    except (RuntimeError, OSError) as error:
        session.console.error(in_words(error))
        return settled(1)


def _arguments(words: list[str]) -> Arguments | None:
    found = {"--session": "", "--root": ""}
    wants_json = False
    if words[:2] != _COMMAND:
        return None
    rest = words[2:]
    while rest:
        word = rest.pop(0)
        if word == "--json":
            wants_json = True
        elif word in _VALUES and rest and not rest[0].startswith("-"):
            found[word] = rest.pop(0)
        else:
            return None
    return Arguments(found["--root"], found["--session"]) if wants_json else None
