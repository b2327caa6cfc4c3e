"""What ends a command with exit code 2: words that cannot be meant, such as a file that is not there."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["WrongUse", "must_be_known", "must_exist"]

_FILE = ".json"


class WrongUse(Exception):
    """Words of the command line that cannot be meant; the text is the one line that the user gets."""


def must_exist(*paths: str) -> None:
    """Raise WrongUse, in the one wording for that, for the first path at which nothing lies."""
    for path in paths:
        if not os.path.exists(path):
            raise WrongUse("%s: not there" % path)


def must_be_known(name: str, known: Iterable[str]) -> None:
    """Raise WrongUse for what is neither one of the known names nor the path of a JSON file that is there."""
    if name.endswith(_FILE):
        must_exist(name)
    elif name not in known:
        raise WrongUse(
            "%s: expected one of %s, or a file whose name ends in %s" % (name, ", ".join(known), _FILE)
        )
