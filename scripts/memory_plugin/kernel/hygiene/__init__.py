"""Find secrets and personal data by rules that are data, and redact them as the policy of a place says.

Text is redacted when it is written or indexed, not while a prompt waits. The rules are imported at their first use. The user's choice of
rules holds for this process.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from .scanner import Finding, Redaction

_allowed: set[str] = set()
_packs: list[str] = []


def findings(text: str, kinds: Collection[str] | None = None, place: str = "memory") -> list[Finding]:
    """Return the secrets and personal data in a text, by position, without overlaps.

    `kinds` limits the search, None means all; `place` decides the action. Raises ValueError for an unknown place.
    """
    from .scanner import scan

    return scan(text, kinds, place, tuple(_packs), _allowed)


def redact(text: str, place: str = "memory") -> Redaction:
    """Return the text with `[redacted:RULE]` for each finding that `place` does not allow, and all findings.

    Findings keep their positions in the original text. Redacting twice changes nothing. A finding whose action is "block" is redacted,
    too; refusing the text is up to the caller.
    """
    from .scanner import Redaction, replaced

    found = findings(text, None, place)
    markers = ((one.start, one.end, "[redacted:%s]" % one.rule) for one in found if one.action != "allow")
    return Redaction(replaced(text, markers), found)


def choose(allow: Iterable[str], packs: Iterable[str]) -> None:
    """Set both parts of the choice: the rules whose findings are allowed, and the additional packs."""
    _allowed.clear()
    _allowed.update(allow)
    _packs[:] = packs


def chosen_rules() -> tuple[frozenset[str], tuple[str, ...]]:
    """Return the allowed rule ids and the packs in use, as a cache key: the same text redacts differently under another choice."""
    return frozenset(_allowed), tuple(_packs)


def rules_checksum() -> int:
    """Return a checksum of the choice below 2**23, 0 for no choice: a change means that stored redactions are out of date."""
    from zlib import crc32

    chosen = "\0".join([*sorted(_allowed), "", *sorted(_packs)])
    return crc32(chosen.encode("utf-8")) & 0x7FFFFF if _allowed or _packs else 0
