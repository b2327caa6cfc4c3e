"""Memories: records, their files, trust and life cycle."""


class InvalidMemory(ValueError):
    """Raised for a memory that cannot be used; the text names the field, what was expected and what was found."""
