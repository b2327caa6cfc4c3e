"""A lightweight replacement for `os` in hooks, and a fast import of this package's cached bytecode, for the reason given in `fastjson`.

The real `os` imports the abstract classes of all collections. With Python 3.13 that takes 9.4 million instructions, a quarter of what
an empty interpreter takes; the replacement takes 2.5 million. Nearly all names that a hook uses come from `posix` unchanged, and
`os.path` is the real `posixpath`. Any other name imports the real module, which then takes the place of the replacement.

Most of an import's time is Python's general file search. The fast import handles only `NAME.py` in its package's folder with an
up-to-date cache file. Everything else is left to Python's own import, which also writes the cache. A damaged cache file is deleted, for
the reason given in `kernel`.
"""

from __future__ import annotations

import builtins
import sys
from _thread import get_ident
from marshal import loads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from importlib.machinery import ModuleSpec
    from types import CodeType, ModuleType
    from typing import Any, Callable

_ENCODING = sys.getfilesystemencoding(), sys.getfilesystemencodeerrors()
_PATH_NAMES = ("altsep", "curdir", "defpath", "devnull", "extsep", "pardir", "pathsep", "sep")
_PACKAGE = __name__.split(".", 1)[0] + "."
# Longer bytecode is left to Python's own import.
_MAX_BYTES = 1 << 16


def install_os() -> None:
    """Put the replacement in the place of `os`, unless that is imported already or the system has no `posix`."""
    if "os" in sys.modules or "posix" not in sys.builtin_module_names:
        return
    import posix

    replacement = type(sys)("os")
    names = vars(replacement)
    names.update(item for item in vars(posix).items() if not item[0].startswith("__"))
    names.update(name="posix", linesep="\n", SEEK_SET=0, SEEK_CUR=1, SEEK_END=2)
    names.update(environ=_Environment(posix.environ), fsencode=_encoded, fsdecode=_decoded)
    names["__getattr__"] = _from_real
    sys.modules["os"] = replacement
    import posixpath  # imports the replacement as `os`

    sys.modules["os.path"] = names["path"] = posixpath
    names.update((name, getattr(posixpath, name)) for name in _PATH_NAMES)


def _from_real(name: str) -> object:
    """Return a name of the real module that the replacement lacks. Raises AttributeError if there is none.

    Names that begin with `O_` are flags of the system, all of which are in `posix`.
    """
    if name.startswith("O_"):
        raise AttributeError(name)
    return getattr(_real(), name)


def _real() -> ModuleType:
    """Import the real module in the place of the replacement, and copy its names to modules that imported the replacement."""
    replacement = sys.modules.pop("os")
    import os

    if vars(replacement).pop("__getattr__", None) is not None:
        vars(replacement).update(vars(os))
    return os


def _encoded(path: str | bytes) -> bytes:
    return path if isinstance(path, bytes) else path.encode(*_ENCODING)


def _decoded(path: str | bytes) -> str:
    return path if isinstance(path, str) else path.decode(*_ENCODING)


class _Environment(dict):  # type: ignore[type-arg]
    """The environment as strings. A change is also made in the process and in `posix`, from which the real module copies it."""

    def __init__(self, raw: dict[bytes, bytes]) -> None:
        self._raw = raw
        super().__init__((_decoded(name), _decoded(value)) for name, value in raw.items())

    def __setitem__(self, name: str, value: str) -> None:
        import os

        os.putenv(name, value)
        self._raw[_encoded(name)] = _encoded(value)
        super().__setitem__(name, value)

    def __delitem__(self, name: str) -> None:
        import os

        super().__delitem__(name)
        os.unsetenv(name)
        del self._raw[_encoded(name)]

    def _refuse(self, *_: object, **__: object) -> object:
        """Raise TypeError, because no hook changes the environment in other ways."""
        raise TypeError("set or delete one name")

    clear = pop = setdefault = update = __ior__ = _refuse  # type: ignore[assignment]


class _Finder:
    """Find and load this package's modules; Python asks this finder before its own."""

    def __init__(self, magic: bytes, tag: str) -> None:
        import os  # by now the replacement, if there is one

        # PEP 552: with no flags set, a file is valid while the source has the time and size that follow.
        self._start = magic + bytes(4)
        self._end = ".%s.pyc" % tag
        self._os = os
        self._codes: dict[str, CodeType] = {}

    def find_spec(self, name: str, path: Sequence[str] | None, *_: object) -> ModuleSpec | None:
        """Return the spec of a module of this package whose cache file is up to date; None for everything else."""
        if path is None or not name.startswith(_PACKAGE):
            return None
        folder, base = path[0] + self._os.sep, name[name.rfind(".") + 1 :]
        spec = self._spec(name, folder, base, is_package=False)
        return spec or self._spec(name, folder + base + self._os.sep, "__init__", is_package=True)

    def _spec(self, name: str, folder: str, base: str, *, is_package: bool) -> ModuleSpec | None:
        source = folder + base + ".py"
        cached = folder + "__pycache__" + self._os.sep + base + self._end
        try:
            self._codes[name] = loads(self._fresh(source, cached))  # noqa: S302 (what Python's import would load)
        except OSError:
            return None
        except (EOFError, ValueError, TypeError):  # damaged: without it, Python's own import reads the source
            self._os.unlink(cached)
            return None
        # ModuleSpec, and below ModuleType, without importing importlib.machinery and types.
        spec = type(__spec__)(name, self, origin=source, is_package=is_package)  # type: ignore[arg-type]
        spec.has_location = True
        spec.cached = cached
        if is_package:
            spec.submodule_search_locations = [folder[:-1]]
        return spec

    def _fresh(self, source: str, cached: str) -> bytes:
        """Return the code in a cache file. Raises OSError if the file is not for the current source."""
        handle = self._os.open(cached, self._os.O_RDONLY | getattr(self._os, "O_BINARY", 0))
        try:
            data = self._os.read(handle, _MAX_BYTES)
        finally:
            self._os.close(handle)
        status = self._os.stat(source)
        stamp = (int(status.st_mtime) & 0xFFFFFFFF) | (status.st_size & 0xFFFFFFFF) << 32
        if len(data) == _MAX_BYTES or data[:16] != self._start + stamp.to_bytes(8, "little"):
            raise OSError("the cache file is for another source, or too long")
        return data[16:]

    def load(self, name: str) -> ModuleType | None:
        """Return a module of this package, imported as a statement would if it is not yet; None leaves it to Python's own import."""
        package, _, base = name.rpartition(".")
        parent = sys.modules.get(package) or (self.load(package) if "." in package else None)
        if name in sys.modules:  # the package itself imported it
            return sys.modules[name]
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


def install_imports() -> None:
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
