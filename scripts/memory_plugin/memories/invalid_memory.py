"""The error of a memory that cannot be used, in a module of its own: the command line catches it without importing `record`."""

from __future__ import annotations


class InvalidMemory(ValueError):
    """Raised for a memory that cannot be used; the text names the field, what was expected and what was found."""
