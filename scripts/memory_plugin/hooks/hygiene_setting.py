"""The user's choice of hygiene rules, put into effect for this process."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..kernel.settings.load import Settings

__all__ = ["follow_hygiene"]


def follow_hygiene(settings: Settings) -> None:
    """Let hygiene go by the settings; nothing is imported where they hold their defaults."""
    allow, packs = settings.texts("hygiene.allow"), settings.texts("hygiene.packs")
    if allow or packs:
        from ..kernel.hygiene_choice import choose, mark
        from ..recall.index.file import redacted_by

        choose(allow, packs)
        redacted_by(mark())
