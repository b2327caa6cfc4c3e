"""A stand-in for `os` while a hook lives, for the reason given in `fastjson`.

The real module imports the abstract classes of all collections. With Python 3.13 that took 9.4 million instructions, a quarter of what
an empty interpreter takes; the stand-in takes 2.5. Nearly all that a hook asks of `os` are names that it only hands on from `posix`, and
the paths of `posixpath`, which is the real one here. Whatever else is asked of the stand-in imports the real module in its place.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType

__all__ = ["install"]

_CODING = sys.getfilesystemencoding(), sys.getfilesystemencodeerrors()
_OF_PATH = ("altsep", "curdir", "defpath", "devnull", "extsep", "pardir", "pathsep", "sep")


def install() -> None:
    """Put the stand-in in the place of `os`, unless that is imported already or the system has no `posix`."""
    if "os" in sys.modules or "posix" not in sys.builtin_module_names:
        return
    import posix

    stand_in = type(sys)("os")
    names = vars(stand_in)
    names.update(item for item in vars(posix).items() if not item[0].startswith("__"))
    names.update(name="posix", linesep="\n", SEEK_SET=0, SEEK_CUR=1, SEEK_END=2)
    names.update(environ=_Environment(posix.environ), fsencode=_encoded, fsdecode=_decoded)
    names["__getattr__"] = _from_real
    sys.modules["os"] = stand_in
    import posixpath  # what this imports as `os` is the stand-in

    sys.modules["os.path"] = names["path"] = posixpath
    names.update((name, getattr(posixpath, name)) for name in _OF_PATH)


def _from_real(name: str) -> object:
    """Return what the real module has under a name that the stand-in lacks. Raises AttributeError if it has no such name either.

    A name that begins with `O_` is a flag of the system: `posix` has all that there are.
    """
    if name.startswith("O_"):
        raise AttributeError(name)
    return getattr(_real(), name)


def _real() -> ModuleType:
    """Import the real module in the place of the stand-in, whose users get the real names, too."""
    stand_in = sys.modules.pop("os")
    import os

    if vars(stand_in).pop("__getattr__", None) is not None:
        vars(stand_in).update(vars(os))
    return os


def _encoded(path: str | bytes) -> bytes:
    return path if isinstance(path, bytes) else path.encode(*_CODING)


def _decoded(path: str | bytes) -> str:
    return path if isinstance(path, str) else path.decode(*_CODING)


class _Environment(dict):  # type: ignore[type-arg]
    """The environment as texts. A change is made in the process and in `posix`, too, of which the real module makes its own."""

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
        """Refuse the other changes, which no hook makes. Raises TypeError."""
        raise TypeError("set, delete or pop one name")

    clear = setdefault = update = __ior__ = _refuse  # type: ignore[assignment]
