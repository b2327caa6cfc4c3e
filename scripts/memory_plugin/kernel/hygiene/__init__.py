"""Find secrets and personal data by rules that are data, and redact them as the policy of a place says.

Text is redacted when it is written or indexed, not while a prompt waits. The rules are imported at their first use.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection

    from .scanner import Finding, Redaction


def findings(text: str, kinds: Collection[str] | None = None, place: str = "memory") -> list[Finding]:
    """Return the secrets and personal data in a text, by position, without overlaps.

    `kinds` limits the search, None means all; `place` decides the action. Raises ValueError for an unknown place.
    """
    from .scanner import scan

    return scan(text, kinds, place)


def redact(text: str, place: str = "memory") -> Redaction:
    """Return the text with `[redacted:RULE]` for each finding that `place` does not allow, and all findings.

    Findings keep their positions in the original text. Redacting twice changes nothing. A finding whose action is "block" is redacted,
    too; refusing the text is up to the caller.
    """
    from .scanner import Redaction, scan

    found = scan(text, None, place)
    pieces: list[str] = []
    position = 0
    for finding in found:
        if finding.action != "allow":
            pieces += (text[position : finding.start], "[redacted:%s]" % finding.rule)
            position = finding.end
    return Redaction("".join([*pieces, text[position:]]), found)
