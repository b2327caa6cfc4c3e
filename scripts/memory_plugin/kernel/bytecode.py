"""Recovery from damaged bytecode files of this package.

When a disk fills up, importlib may write part of a cache file and take it for complete. From then on importing that module raises
EOFError, ValueError or TypeError from `marshal`; after other damage Python silently reads the source instead. Disks fill up in whole
blocks, mostly of 4 kB. The cache files of this module and of the `__init__` modules that import it are smaller, so they are complete or
empty, and Python ignores an empty one. The hooks' own import deletes a damaged file when it meets one.
"""

from __future__ import annotations

import os
import sys
from typing import Callable, TypeVar

T = TypeVar("T")

_HEADER_BYTES = 16  # PEP 552
_PACKAGE = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))


def import_with_cache_repair(load: Callable[[], T]) -> T:
    """Return what `load` imports; if a bytecode file is damaged, delete it and import again from source."""
    try:
        return load()
    except (EOFError, ValueError, TypeError):
        if not discard_damaged():
            raise
        return load()


def discard_damaged(package: str = _PACKAGE) -> int:
    """Delete the unreadable bytecode files of this Python version; return how many were deleted."""
    import marshal  # all needed only after damage
    from contextlib import suppress
    from pathlib import Path

    count = 0
    for path in Path(package).rglob("*.%s.pyc" % sys.implementation.cache_tag):
        with suppress(OSError):
            try:
                marshal.loads(path.read_bytes()[_HEADER_BYTES:])  # noqa: S302 (what the next import would load itself)
            except (EOFError, ValueError, TypeError):
                path.unlink()
                count += 1
    return count
