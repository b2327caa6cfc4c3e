"""What the host's events hold, taken with care: any field may be missing, of another type, or as long as somebody likes."""

from __future__ import annotations

__all__ = ["MAX_IDENTITY", "identity", "path"]

MAX_IDENTITY = 200


def identity(value: object) -> str:
    """The id of a session or a prompt: the text, cut to 200 characters; empty for anything else."""
    return value[:MAX_IDENTITY] if isinstance(value, str) else ""


def path(value: object) -> str:
    """A path that the system can be asked about; empty for anything else."""
    return value if isinstance(value, str) and "\0" not in value else ""
