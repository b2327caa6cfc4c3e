"""A fast import of this package's cached bytecode for hooks, because most of an import's time is Python's general file search.

It handles only `NAME.py` in its package's folder with an up-to-date cache file. Everything else is left to Python's own import, which
also writes the cache.
"""

from __future__ import annotations

import builtins
import os
import sys
from _thread import get_ident
from marshal import loads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from importlib.machinery import ModuleSpec
    from types import CodeType, ModuleType
    from typing import Any, Callable

_PACKAGE = __name__.split(".", 1)[0] + "."
# Longer bytecode is cut off, fails in marshal, and is left to Python's own import.
_MAX_BYTES = 1 << 16


class _Finder:
    """Find and load this package's modules; Python asks this finder before its own."""

    def __init__(self, magic: bytes, tag: str) -> None:
        # PEP 552: with no flags set, a file is valid while the source has the time and size that follow.
        self._start = magic + bytes(4)
        self._end = ".%s.pyc" % tag
        self._codes: dict[str, CodeType] = {}

    def find_spec(self, name: str, path: Sequence[str] | None, *_: object) -> ModuleSpec | None:
        """Return the spec of a module of this package whose cache file is up to date; None for everything else."""
        if path is None or not name.startswith(_PACKAGE):
            return None
        folder, base = path[0] + os.sep, name[name.rfind(".") + 1 :]
        spec = self._spec(name, folder, base, is_package=False)
        return spec or self._spec(name, folder + base + os.sep, "__init__", is_package=True)

    def _spec(self, name: str, folder: str, base: str, *, is_package: bool) -> ModuleSpec | None:
        source = folder + base + ".py"
        cached = folder + "__pycache__" + os.sep + base + self._end
        try:
            self._codes[name] = loads(self._fresh(source, cached))  # noqa: S302 (what Python's import would load)
        except (OSError, EOFError, ValueError, TypeError):
            return None  # with a damaged cache file Python's own import fails, too, and `bytecode` repairs it
        # ModuleSpec, and below ModuleType, without importing importlib.machinery and types.
        spec = type(__spec__)(name, self, origin=source, is_package=is_package)  # type: ignore[arg-type]
        spec.has_location = True
        spec.cached = cached
        if is_package:
            spec.submodule_search_locations = [folder[:-1]]
        return spec

    def _fresh(self, source: str, cached: str) -> bytes:
        """Return the code in a cache file. Raises OSError if the file is not for the current source."""
        handle = os.open(cached, os.O_RDONLY | getattr(os, "O_BINARY", 0))
        try:
            data = os.read(handle, _MAX_BYTES)
        finally:
            os.close(handle)
        status = os.stat(source)
        stamp = (int(status.st_mtime) & 0xFFFFFFFF) | (status.st_size & 0xFFFFFFFF) << 32
        if data[:16] != self._start + stamp.to_bytes(8, "little"):
            raise OSError("the cache file is for another source")
        return data[16:]

    def load(self, name: str) -> ModuleType | None:
        """Return a module of this package, imported as a statement would if it is not yet; None leaves it to Python's own import."""
        package, _, base = name.rpartition(".")
        parent = sys.modules.get(package) or (self.load(package) if "." in package else None)
        spec = None if parent is None else self.find_spec(name, parent.__path__)
        if spec is None:
            return None
        module = sys.modules[name] = type(sys)(name)
        vars(module).update(__spec__=spec, __loader__=self, __package__=spec.parent, __file__=spec.origin)
        if spec.submodule_search_locations is not None:
            module.__path__ = spec.submodule_search_locations
        try:
            self.exec_module(module)
        except BaseException:
            del sys.modules[name]
            raise
        setattr(parent, base, module)
        return module

    def create_module(self, spec: ModuleSpec) -> None:
        """Return None, so that Python creates the module."""

    def exec_module(self, module: ModuleType) -> None:
        """Run the module's code."""
        exec(self._codes.pop(module.__name__), module.__dict__)  # noqa: S102 (the module's own)


def install() -> None:
    """Use the fast import from now on, if this Python caches bytecode in the known format; installs it once in a process."""
    magic = getattr(sys.modules.get("_frozen_importlib_external"), "MAGIC_NUMBER", b"")
    tag = sys.implementation.cache_tag
    if any(isinstance(finder, _Finder) for finder in sys.meta_path):
        return
    if magic and tag and sys.pycache_prefix is None and not sys.flags.optimize:
        finder = _Finder(magic, tag)
        sys.meta_path.insert(0, finder)
        builtins.__import__ = _fast_import(finder, builtins.__import__)


def _fast_import(finder: _Finder, python_import: Callable[..., ModuleType]) -> Callable[..., ModuleType]:
    """Return what import statements call: it imports `from .module import name` without Python's locks and lookups.

    These are 75,000 of the 270,000 instructions of one import. Other statements, other threads and other packages are left to Python.
    """
    modules, thread = sys.modules, get_ident()

    def import_module(
        name: str,
        globals: Mapping[str, Any] | None = None,  # noqa: A002 (the names that `__import__` has)
        locals: Mapping[str, object] | None = None,  # noqa: A002
        fromlist: Sequence[str] | None = (),
        level: int = 0,
    ) -> ModuleType:
        if level and name and fromlist and globals is not None:
            package: str = globals["__package__"]
            full = (package if level == 1 else package.rsplit(".", level - 1)[0]) + "." + name
            module = modules.get(full)
            if module is None and get_ident() == thread and full.startswith(_PACKAGE):
                module = finder.load(full)
            if module is not None and "__path__" not in vars(module):  # a name in a package may be a module
                return module
        return python_import(name, globals, locals, fromlist, level)

    return import_module
