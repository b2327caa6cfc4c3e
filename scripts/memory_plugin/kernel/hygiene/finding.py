"""What a scan returns."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["Finding", "Redaction"]


class Finding(NamedTuple):
    """One secret or piece of personal data: `text[start:end]`, never the value itself.

    `kind` is one of `policy.KINDS`, such as "secret", "url_credentials" or "email"; `rule` the stable id of the rule;
    `action` "allow", "redact" or "block".
    """

    kind: str
    rule: str
    start: int
    end: int
    action: str


class Redaction(NamedTuple):
    """A text with `[redacted:RULE]` in place of what must not be there, and all findings in the original."""

    text: str
    findings: list[Finding]
