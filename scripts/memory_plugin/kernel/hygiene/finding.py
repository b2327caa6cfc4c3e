"""What a scan returns."""

from __future__ import annotations

__all__ = ["Finding", "Redaction"]


class Finding:
    """One secret or piece of personal data: `text[start:end]`, never the value itself.

    `kind` is one of `policy.KINDS`, such as "secret", "url_credentials" or "email"; `rule` the stable id of the rule;
    `action` "allow", "redact" or "block".
    """

    __slots__ = ("action", "end", "kind", "rule", "start")

    def __init__(self, kind: str, rule: str, start: int, end: int, action: str) -> None:
        self.kind, self.rule, self.start, self.end, self.action = kind, rule, start, end, action

    def record(self) -> dict[str, object]:
        """The finding as programs get it."""
        return {
            "kind": self.kind,
            "rule": self.rule,
            "start": self.start,
            "end": self.end,
            "action": self.action,
        }


class Redaction:
    """A text with `[redacted:RULE]` in place of what must not be there, and all findings in the original."""

    __slots__ = ("findings", "text")

    def __init__(self, text: str, findings: list[Finding]) -> None:
        self.text, self.findings = text, findings
