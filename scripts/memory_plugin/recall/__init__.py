"""Recall: find the few memories that matter for a prompt, or none."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..kernel.settings import Settings


def follow_hygiene(settings: Settings) -> None:
    """Apply the user's choice of hygiene rules to this process; import nothing if the settings have their defaults."""
    allow, packs = settings.texts("hygiene.allow"), settings.texts("hygiene.packs")
    if allow or packs:
        from ..kernel.hygiene import choose, rules_checksum
        from .index_file import set_redaction

        choose(allow, packs)
        set_redaction(rules_checksum())
