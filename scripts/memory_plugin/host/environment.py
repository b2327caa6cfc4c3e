"""Clean the environment: remove every variable that a project's settings set, before anything else runs.

The client passes the `env` block of a project's settings to our hooks, overriding the launch environment and the user's settings, and in
print mode even without folder trust. The author of a repository could otherwise send the user's key to their own server, or move our state
into a folder that they own.
"""

from __future__ import annotations

import os

from ..kernel.fastjson import as_object, loads
from ..kernel.files import read_regular
from ..kernel.paths import config_folder, main_worktree, project_root

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

OFF = "MEMORY_DISABLE"
# Names the one-time mark with which a process that a hook started proves it; its environment is clean because the hook's is.
HANDED_OVER = "MEMORY_HANDED_OVER"
# On Windows the names in `os.environ` are upper case, and a file may use any case.
_ANY_CASE = os.name == "nt"
# Linux starts no process with more than 2 MB of environment, so a larger settings file cannot set more names.
_MAX_BYTES = 4 << 20
_SENSITIVE_PARTS = (
    *("KEY", "TOKEN", "SECRET", "URL", "PROXY", "CERT", "CA_"),
    *("_CA", "SSL", "AUTH", "PASSWORD", "ENDPOINT", "HEADERS"),
)
_SENSITIVE_NAMES = frozenset(["HOME", "USERPROFILE", "TMPDIR", "TEMP", "TMP", "PATH", "CLAUDE_CONFIG_DIR"])
_LOCATION_NAMES = frozenset(["HOME", "USERPROFILE", "CLAUDE_CONFIG_DIR"])
_CONTROL_NAMES = _LOCATION_NAMES.union([OFF, "CLAUDECODE", "CLAUDE_CODE_SESSION_ID"])
# Not restored to the client's launch values: the search path and the folder for temporary files, which the shell's startup files and the
# client's sandbox set. The same goes for what the client sets for each of its commands, except for two folders.
_NOT_RESTORED = frozenset(["PATH", "TMPDIR", "TEMP", "TMP", HANDED_OVER])
_CLIENT_FOLDERS = frozenset(["CLAUDE_CONFIG_DIR", "CLAUDE_PROJECT_DIR"])
_SET_BY_PROJECT = "the project's settings set %s, which can redirect keys, so judges and uploads are off"
_SENSITIVE_STARTS = (
    *("ANTHROPIC", "OPENAI", "GEMINI", "GOOGLE", "MEMORY_", "LANGFUSE"),
    *("XDG_", "PYTHON", "LD_", "DYLD_", "CLAUDE"),
)


class Taint:
    """The variables that a project's settings had set in the environment.

    `names` maps each removed name to its file; `unread` lists settings files that could not be parsed; `locked` is a reason why no key may
    be used although no file sets anything. `judges_off` means that judges and uploads are off for the project, because one of the names
    decides, or may decide, where keys and texts go.
    """

    def __init__(self) -> None:
        self.names: dict[str, str] = {}
        self.unread: list[str] = []
        self.locked = ""

    def add(self, other: Taint) -> None:
        """Add the variables that another folder's settings had set."""
        self.unread += [path for path in other.unread if path not in self.unread]
        for name, path in other.names.items():
            self.names.setdefault(name, path)

    @property
    def why_off(self) -> str:
        """Return why nothing may be sent out for this project; empty if it may."""
        if not self.judges_off:
            return ""
        names = ", ".join(sorted(filter(is_sensitive, self.names)))
        if self.locked and not names:
            return self.locked
        return _SET_BY_PROJECT % (names or "something unreadable")

    @property
    def judges_off(self) -> bool:
        """Return whether nothing may be sent out for this project."""
        return bool(self.unread or self.locked) or any(map(is_sensitive, self.names))


def is_sensitive(name: str) -> bool:
    """Return whether a variable may hold or redirect a key, token, URL, proxy, certificate or home folder, or is one of ours."""
    name = name.upper()
    has_part = any(part in name for part in _SENSITIVE_PARTS)
    return has_part or name in _SENSITIVE_NAMES or name.startswith(_SENSITIVE_STARTS)


def switched_off() -> bool:
    """Return whether the user, or a hook of ours that started this process, switched the plugin off."""
    return os.environ.get(OFF, "") not in ("", "0")


def launch_folder() -> str:
    """Return the folder in which the client was started, which a project cannot override; else the working folder."""
    return os.environ.get("CLAUDE_PROJECT_DIR") or os.getcwd()


def clean(launch: str) -> Taint:
    """Remove from `os.environ` every name that the settings of the project around `launch` set; return what was removed."""
    taint = Taint()
    root = project_root(launch)
    folders = [os.path.realpath(launch), root]
    main = main_worktree(root)
    if main is not None:
        folders.append(main)
    for folder in dict.fromkeys(folders):
        for name in ("settings.json", "settings.local.json"):
            _collect_names(os.path.join(folder, ".claude", name), taint)
    if _is_users_own(root, taint):
        return Taint()
    for name in [name for name in os.environ if name in taint.names]:
        del os.environ[name]
    return taint


def restore_launch_values(launch: Mapping[str, str], *, keep: Sequence[str] = ()) -> None:
    """Restore the client's launch value of each sensitive name; remove the sensitive names that it did not have."""
    for name in {*os.environ, *launch}:
        set_by_client = name.startswith("CLAUDE") and name not in _CLIENT_FOLDERS
        if not is_sensitive(name) or name in _NOT_RESTORED or name in keep or set_by_client:
            continue
        if name in launch:
            os.environ[name] = launch[name]
        elif name in os.environ:
            del os.environ[name]


def _collect_names(path: str, taint: Taint) -> None:
    try:
        text = _text(read_regular(path, _MAX_BYTES, follow=True)[0])
    except FileNotFoundError:
        return
    except OSError:  # the client may read what is too large for us
        taint.unread.append(path)
        taint.names.update((name, path) for name in _LOCATION_NAMES)
        return
    names = _names(text, path, taint)
    if _ANY_CASE:
        names = [name.upper() for name in names]
    # The first file that sets a name is the one reported.
    taint.names = {**dict.fromkeys(names, path), **taint.names}


def _text(data: bytes) -> str:
    """Return a settings file's text as the client decodes it: as UTF-16 if it begins with that byte order mark."""
    if data.startswith(b"\xff\xfe"):
        return data[2:].decode("utf-16-le", "replace")
    return data.decode("utf-8", "replace").lstrip("\ufeff")


def _names(text: str, path: str, taint: Taint) -> Iterable[str]:
    """Return the names that a settings file sets.

    The client may parse text that we cannot: it accepts deeper nesting, longer numbers and other encodings. In that case the result is
    every variable of the environment that the text may contain.
    """
    try:
        settings = loads(text)
    except ValueError:
        taint.unread.append(path)
        hidden = "\\u" in text or "\0" in text
        text = text.upper() if _ANY_CASE else text
        return [name for name in os.environ if '"%s"' % name in text or (hidden and name in _CONTROL_NAMES)]
    return as_object(as_object(settings).get("env"))


def _is_users_own(root: str, taint: Taint) -> bool:
    """Return whether the project is the home folder, so that its settings are the user's own file.

    A project whose settings move the home or config folder could pretend to be the home, so those names rule it out.
    """
    config = config_folder()
    if config is None or taint.unread or _LOCATION_NAMES.intersection(taint.names):
        return False
    return os.path.realpath(config) == os.path.join(root, ".claude")
