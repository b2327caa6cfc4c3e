"""Determine which memories are superseded, by which others, and whose `asked_as` phrases the newer ones inherit.

Two fields are used. `superseded_by` in the older memory ends its recall permanently, as `retired` does: it is the memory's own text.
`supersedes` in the newer one counts only while that one is trusted and active, so that a pending memory has no effect on others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Callable, NamedTuple

from .record import MAX_ASKED_AS, categories
from .stores import PROJECT, USER

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["Link", "Resolution", "name_for", "named_keys", "older_names", "resolve"]

# A repository may hold chains of any length and with any number of branches; no person's history needs more steps than this.
_MAX_STEPS = 64


class Link(NamedTuple):
    """The references of one active memory to others; `is_trusted` decides whether its `supersedes` counts."""

    key: str
    is_trusted: bool
    superseded_by: str
    supersedes: tuple[str, ...]
    asked_as: tuple[str, ...] = ()


class Resolution(NamedTuple):
    """The outcome for a set of memories.

    `superseded`: key of each superseded memory -> key of the memory that replaces it, or the name that it gives where there is none.
    `inherited`: key of each memory that replaces older ones -> their phrases, the nearest first.
    `circular`: keys of memories that supersede one another; what `supersedes` says in them counts for nothing.
    """

    superseded: dict[str, str]
    inherited: dict[str, tuple[str, ...]]
    circular: list[str]


def named_keys(name: str, key: str) -> Iterator[str]:
    """Yield the keys that a name may mean in the memory with this key, the likeliest first.

    A name is an id, `category/id` or `scope:category/id`; an id is looked for in the memory's own scope and category first.
    """
    scope, _, rest = key.partition(":")
    category = rest.partition("/")[0]
    scopes = [scope] + [other for other in (PROJECT, USER) if other != scope]
    if ":" in name:
        yield name
    elif "/" in name:
        yield from ("%s:%s" % (scope, name) for scope in scopes)
    else:
        folders = [category] + [other for other in categories() if other != category]
        yield from ("%s:%s/%s" % (scope, folder, name) for scope in scopes for folder in folders)


def name_for(key: str, beside: str) -> str:
    """Return the shortest of the three names by which the memory with the key `beside` may name the one with this key."""
    scope, _, rest = key.partition(":")
    if not beside.startswith(scope + ":"):
        return key
    category, _, identity = rest.partition("/")
    return identity if beside.startswith("%s:%s/" % (scope, category)) else rest


def older_names(key: str, supersedes: tuple[str, ...], beside: str) -> list[str]:
    """Return the names of a memory and of those that it supersedes, as a newer memory with the key `beside` may give them.

    With the whole chain named, the newest one still supersedes the oldest when those between them are deleted. Names of another category or
    store are left out: an id could mean another memory there.
    """
    name = name_for(key, beside)
    near = key.rpartition("/")[0] == beside.rpartition("/")[0]
    return [name, *supersedes] if near else [name]


def resolve(links: Mapping[str, Link], find: Callable[[str], Link | None]) -> Resolution:
    """Return who is superseded and what is inherited.

    Args:
        links: the memories that name others in either field, by key.
        find: the active memory with a key, whether or not it names others; None when there is none.
    """
    newer: dict[str, list[str]] = {}
    superseded: dict[str, str] = {}
    for key, link in sorted(links.items()):
        if link.superseded_by:
            target = _target(link.superseded_by, key, find)
            superseded[key] = target or link.superseded_by
            if target and link.is_trusted:
                newer.setdefault(key, []).append(target)
    claims = [
        (older, key)
        for key, link in sorted(links.items())
        if link.is_trusted
        for older in filter(None, (_target(name, key, find) for name in link.supersedes))
    ]
    for older, key in claims:
        newer.setdefault(older, []).append(key)
    circular_claims = {(older, key) for older, key in claims if older in _reached(key, newer)}
    for older, key in claims:
        if (older, key) in circular_claims:
            newer[older].remove(key)
        else:
            superseded.setdefault(older, key)
    circular = {key for _, key in circular_claims} | {
        key for key in superseded if key in _reached(key, newer)
    }
    return Resolution(superseded, _inherited(superseded, newer, find), sorted(circular))


def _target(name: str, key: str, find: Callable[[str], Link | None]) -> str:
    return next(
        (
            named_key
            for named_key in named_keys(name, key)
            if named_key != key and find(named_key) is not None
        ),
        "",
    )


def _reached(key: str, newer: dict[str, list[str]]) -> list[str]:
    """Return the memories that replace one, directly or indirectly, the nearest first."""
    found: list[str] = []
    ahead = newer.get(key, [])[:_MAX_STEPS]
    while ahead and len(found) < _MAX_STEPS:
        key = ahead.pop(0)
        if key not in found:
            found.append(key)
            ahead += newer.get(key, [])[:_MAX_STEPS]
    return found


def _inherited(
    superseded: dict[str, str], newer: dict[str, list[str]], find: Callable[[str], Link | None]
) -> dict[str, tuple[str, ...]]:
    """Return the phrases that each memory inherits; only trusted memories pass on or inherit phrases."""
    inherited: dict[str, list[tuple[int, tuple[str, ...]]]] = {}
    for older in sorted(superseded):
        source = find(older)
        if source is None or not source.is_trusted or not source.asked_as:
            continue
        for steps, key in enumerate(_reached(older, newer)):
            successor = find(key)
            if key not in superseded and successor is not None and successor.is_trusted:
                inherited.setdefault(key, []).append((steps, source.asked_as))
    return {
        key: tuple(dict.fromkeys(phrase for _, phrases in sorted(lists) for phrase in phrases))[:MAX_ASKED_AS]
        for key, lists in inherited.items()
    }
