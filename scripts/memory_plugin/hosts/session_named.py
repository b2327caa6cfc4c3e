"""The session that a command names: a transcript, an id, the one at hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..sessions.locate import by_name, current, is_id
from .wrong_use import must_exist

if TYPE_CHECKING:
    import argparse

    from .session_context import Session

__all__ = ["transcript_named"]


def transcript_named(arguments: argparse.Namespace, session: Session) -> str:
    """The path of the transcript that `target` or `--current` means. Raises WrongUse for a file that is not there, NotFound for an id."""
    if arguments.current:
        return current(session.places, session.id)
    if not is_id(arguments.target):
        must_exist(arguments.target)
    return by_name(session.places, arguments.target)
