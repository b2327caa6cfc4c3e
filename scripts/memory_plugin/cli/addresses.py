"""Messages about where an API key is sent, and which environment variables are ignored when choosing that address."""

from __future__ import annotations

from ..kernel.judge.credentials import ENVIRONMENT, AddressSource
from ..kernel.settings.user_file import set_value
from ..kernel.text.clean import terminal_safe
from .command_context import CommandContext

_COMMON = ("HTTPS_PROXY", "https_proxy", "NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE", "SSL_CERT_DIR")
_CONFIRM = "inside Claude Code a project can set it. To use it there as well, put it into the env block of your own settings.json"


def address_sentences(context: CommandContext, route: AddressSource, names: tuple[str, ...]) -> list[str]:
    """Return the address of a request with its source, then a sentence for each ignored variable, of `names` and the usual ones."""
    return ["Address: %s." % terminal_safe(str(route)), *ignored_sentences(context, (*names, *_COMMON))]


def ignored_sentences(context: CommandContext, names: tuple[str, ...]) -> list[str]:
    """Return a sentence for each of the named variables that is set but ignored."""
    lines = []
    for name in names:
        path = context.taint.names.get(name)
        if path is not None:
            lines.append("%s is ignored: %s sets it." % (name, terminal_safe(path)))
        elif name in context.caller.ignored:
            lines.append("%s is ignored: only the environment sets it, and %s." % (name, _CONFIRM))
    return lines


def keep_address(context: CommandContext, route: AddressSource, key: str, *, keep: bool) -> list[str]:
    """Offer to save an address that only the environment sets in the user's own settings; return what to print about it.

    The address is saved under `key` if `keep` is true, or if the user confirms it in a terminal. Raises EditError.
    """
    if route.source != ENVIRONMENT or context.caller.inside:
        return []
    url = terminal_safe(route.url)
    notice = (
        "%s in your environment is %s. Commands that Claude runs use it only if your own settings contain it."
    )
    notice %= (route.name, url)
    if not keep and not context.console.confirm("%s\nWrite it to your settings, as %s?" % (notice, key)):
        return [notice, "To write it to your settings: memory config set %s %s" % (key, url)]
    change = set_value(context.paths.config_dir, key, route.url)
    return ["%s is now %s, in %s." % (key, url, terminal_safe(change.path))]
