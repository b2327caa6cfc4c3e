"""A lightweight replacement for `os` in hooks, for the reason given in `fastjson`.

The real module imports the abstract classes of all collections. With Python 3.13 that takes 9.4 million instructions, a quarter of what
an empty interpreter takes; the replacement takes 2.5 million. Nearly all names that a hook uses come from `posix` unchanged, and
`os.path` is the real `posixpath`. Any other name imports the real module, which then takes the place of the replacement.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType

_ENCODING = sys.getfilesystemencoding(), sys.getfilesystemencodeerrors()
_PATH_NAMES = ("altsep", "curdir", "defpath", "devnull", "extsep", "pardir", "pathsep", "sep")


def install() -> None:
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

    __slots__ = ("_raw",)

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

    def pop(self, name: str, *default: object) -> object:
        """Remove a name and return its value, or the default without one. Raises KeyError without a default."""
        if name not in self and default:
            return default[0]
        value = self[name]
        del self[name]
        return value

    def _refuse(self, *_: object, **__: object) -> object:
        """Raise TypeError, because no hook changes the environment in other ways."""
        raise TypeError("set, delete or pop one name")

    clear = setdefault = update = __ior__ = _refuse  # type: ignore[assignment]
