"""Where keys go, in words, and which variables of the environment are not used for it, and why."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from ..kernel.judge.address import ENVIRONMENT
from ..kernel.settings.advice import terminal_safe
from ..kernel.settings.user_file import set_value

if TYPE_CHECKING:
    from ..kernel.judge.address import AddressSource
    from .command_context import Session

__all__ = ["address_words", "ignored_words", "keep_address"]

_COMMON = ("HTTPS_PROXY", "https_proxy", "NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE", "SSL_CERT_DIR")
_CONFIRM = "inside Claude Code a project can set it. To use it there as well, put it into the block env of your own settings.json"


def address_words(session: Session, route: AddressSource, also: tuple[str, ...] = ()) -> list[str]:
    """Return the address of a request and who names it, then a sentence for each variable that is not used."""
    return ["Address: %s." % terminal_safe(str(route)), *ignored_words(session, (*also, *_COMMON))]


def ignored_words(session: Session, names: tuple[str, ...]) -> list[str]:
    """Return a sentence for each of some variables that the environment holds and that is not used."""
    lines = []
    for name in names:
        path = session.taint.names.get(name)
        if path is not None:
            lines.append("%s is ignored: %s sets it." % (name, terminal_safe(path)))
        elif name in session.caller.ignored:
            lines.append("%s is ignored: only the environment names it, and %s." % (name, _CONFIRM))
    return lines


def keep_address(session: Session, route: AddressSource, key: str, *, keep: bool) -> list[str]:
    """Offer to write an address that only the environment names into the user's own settings; return what to say about it.

    With `keep`, or on the user's yes in a terminal, it is written under `key`. Raises EditError.
    """
    if route.source != ENVIRONMENT or session.caller.inside:
        return []
    said = (
        "%s in your environment names %s. Commands that Claude runs use it only if your own settings name it."
        % (
            route.name,
            terminal_safe(route.url),
        )
    )
    if not keep and not _agreed("%s\nWrite it there, as %s? [y/N] " % (said, key)):
        return [said, "To write it there: memory config set %s %s" % (key, terminal_safe(route.url))]
    change = set_value(session.places.config_dir, key, route.url)
    return ["%s is %s now, in %s." % (key, terminal_safe(route.url), terminal_safe(change.path))]


def _agreed(question: str) -> bool:
    """Whether somebody at a terminal says yes; off a terminal nobody is asked."""
    if not (sys.stdin and sys.stdin.isatty() and sys.stdout.isatty()):
        return False
    try:
        return input(question).strip().lower() in ("y", "yes")
    except EOFError:
        return False
