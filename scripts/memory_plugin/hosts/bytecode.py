"""Python's cached bytecode of this package, checked where it could not be read.

On a disk that is just full, importlib writes a part of a cache file and takes it for whole; from then on the import of that module fails
with an EOFError, ValueError or TypeError of `marshal` and not, as for other damage, with a silent look at the source.  A disk fills up
by whole blocks, of 4 kB mostly: the modules of this guard are smaller, so that theirs are whole, or empty, which Python passes over.
"""

from __future__ import annotations

import marshal
import os
from importlib.util import cache_from_source

__all__ = ["discard_damaged"]

_HEADER_BYTES = 16  # PEP 552
_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def discard_damaged(package: str = _PACKAGE) -> int:
    """Delete the cache files of this Python's that hold no whole module; how many went. What may not be deleted stays."""
    count = 0
    for folder, _, names in os.walk(package):
        for name in names:
            if name.endswith(".py") and _is_damaged(cached := cache_from_source(os.path.join(folder, name))):
                try:
                    os.unlink(cached)
                except OSError:
                    continue
                count += 1
    return count


def _is_damaged(path: str) -> bool:
    """Whether a cache file is there and cannot be read."""
    try:
        with open(path, "rb") as file:
            marshal.loads(file.read()[_HEADER_BYTES:])  # noqa: S302 (what the next import would load itself)
    except (EOFError, ValueError, TypeError):
        return True
    except OSError:
        return False
    return False
