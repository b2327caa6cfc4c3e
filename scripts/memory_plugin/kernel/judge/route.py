"""Which address a request goes to, and who names it: for people who wonder where a key is sent."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from .address import parse_address

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..settings.load import Settings
    from .access import Variables

__all__ = ["ENVIRONMENT", "Route", "route_of"]

ENVIRONMENT = "environment"
_OWN_FILE = "your settings.json"
_BY_VENDOR = "vendor"


class Route(NamedTuple):
    """An address, and who names it: `setting` or `variable` (one is empty, or both), and `source`.

    `source` is "vendor", "your settings.json" or "environment".
    """

    url: str
    name: str
    source: str

    @property
    def host(self) -> str:
        """The host with its port, as a request goes there; "an unusable address" where no request goes."""
        address = parse_address(self.url)
        return address.authority if address is not None else "an unusable address"

    def __str__(self) -> str:
        if self.source == _BY_VENDOR:
            return "%s, the vendor's own address" % self.host
        where = "in the environment" if self.source == ENVIRONMENT else "in " + self.source
        return "%s, named by %s %s" % (self.host, self.name, where)


def route_of(key: str, names: Sequence[str], vendor: str, settings: Settings, variables: Variables) -> Route:
    """Return the address that the setting `key`, else one of some variables, else the vendor names."""
    if settings.text(key):
        return Route(settings.text(key), key, _OWN_FILE)
    name = variables.first(names)
    if not name:
        return Route(vendor, "", _BY_VENDOR)
    source = _OWN_FILE if variables.is_own(name) else ENVIRONMENT
    return Route(variables.get(name), name, source)
