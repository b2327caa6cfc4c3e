"""What ends a command with exit code 2: words that cannot be meant, such as a file that is not there."""

from __future__ import annotations

import os

__all__ = ["WrongUse", "must_exist"]


class WrongUse(Exception):
    """Words of the command line that cannot be meant; the text is the one line that the user gets."""


def must_exist(*paths: str) -> None:
    """Raise WrongUse, in the one wording for that, for the first path at which nothing lies."""
    for path in paths:
        if not os.path.exists(path):
            raise WrongUse("%s: not there" % path)
