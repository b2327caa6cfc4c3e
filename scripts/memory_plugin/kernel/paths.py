"""Paths of the plugin's own data, the host's config folder, the state folder and the current project; and the JSON objects in their files.

What `read_state` reads may be lost without harm, such as caches and marks. Approvals and spending are stored elsewhere: for them an
unreadable file is an error and must never count as empty. What several processes change, each changes within a `StateChange`.
"""

from __future__ import annotations

import os

from .fastjson import as_object, digest, dumps, loads
from .files import FileLock, make_folder, read_regular, remove_file, replace_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    State = dict[str, Any]

_PACKAGE = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
_MAX_POINTER = 4096
_MAX_BYTES = 1 << 20
_LOCK_WAIT = 5.0  # seconds
YOURS = "; set HOME or CLAUDE_CONFIG_DIR to a folder of your own outside the project"
_CHANGE_WAIT = 1.0


def data_path(*parts: str) -> str:
    """Return the path of a file under the plugin's `config/`, which is inside the package if that was installed from a wheel."""
    folder = os.path.join(_PACKAGE, "config")
    if not os.path.isdir(folder):
        folder = os.path.join(os.path.dirname(os.path.dirname(_PACKAGE)), "config")
    return os.path.join(folder, *parts)


def own_script() -> str:
    """Return the path of our program in Python."""
    return os.path.join(os.path.dirname(_PACKAGE), "memory.py")


def config_folder() -> str | None:
    """Return the host's config folder: CLAUDE_CONFIG_DIR, else `.claude` in the home folder; None when the environment names neither."""
    return config_folder_of(os.environ)


def config_folder_of(environment: Mapping[str, str]) -> str | None:
    """Return the host's config folder in an environment, which may be that of another process; None as for `config_folder`."""
    folder = environment.get("CLAUDE_CONFIG_DIR", "")
    if os.path.isabs(folder):
        return os.path.normpath(folder)
    home = environment.get("HOME") or environment.get("USERPROFILE") or ""
    return os.path.join(os.path.normpath(home), ".claude") if os.path.isabs(home) else None


def home_folder() -> str | None:
    """Return the user's home folder as the environment names it; None when it names none."""
    home = os.environ.get("HOME") or os.environ.get("USERPROFILE") or ""
    return os.path.normpath(home) if os.path.isabs(home) else None


def account_home() -> str | None:
    """Return the home folder of the account that runs this process, regardless of the environment; None if the system has none."""
    try:
        from pwd import getpwuid

        home = getpwuid(os.getuid()).pw_dir
    except (ImportError, KeyError):
        home = _profile_of_windows() if os.name == "nt" else ""
    return os.path.normpath(home) if os.path.isabs(home) else None


def _profile_of_windows() -> str:
    """Ask the shell for the profile folder (CSIDL_PROFILE)."""
    try:
        import ctypes

        text = ctypes.create_unicode_buffer(260)
        ctypes.windll.shell32.SHGetFolderPathW(None, 0x28, None, 0, text)  # type: ignore[attr-defined,unused-ignore]
    except (ImportError, OSError, AttributeError):
        return ""
    return str(text.value)


def state_folder(config: str | None, project: str | None) -> tuple[str | None, str]:
    """Return the folder for ledgers, indexes and trust, or None and the reason.

    None without a home folder, if the folder is inside the project, whose author would control it, or if another user owns it. The only
    project that may contain it is the home folder itself.
    """
    if config is None:
        return None, "no home folder: neither CLAUDE_CONFIG_DIR nor HOME is set to an absolute path" + YOURS
    named = config + (project or "")
    if named != named.encode("utf-8", "ignore").decode():
        return None, "the path of the project or of the config folder is not UTF-8; rename the folder"
    owner = None if project is None or _is_home(project) else project
    if owner is not None and _inside(os.path.realpath(config), owner):
        why = "the config folder %s lies inside the project %s; go into a project's own folder, or name one with --root"
        return None, why % (config, owner)
    folder = os.path.join(config, "lcars", "memory")
    for path in (config, folder):
        try:
            status = os.stat(path)
        except OSError:
            continue
        if hasattr(os, "getuid") and status.st_uid != os.getuid():
            return None, "%s belongs to another user" % path + YOURS
    if owner is not None and _inside(os.path.realpath(folder), owner):
        return None, "the state folder %s leads into the project" % folder
    return folder, ""


def _is_home(folder: str) -> bool:
    home = home_folder()
    return home is not None and os.path.realpath(home) == folder


def _inside(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip(os.sep) + os.sep)


def project_root(start: str) -> str:
    """Return the real path of the project that holds `start`.

    It is the git root; without git the nearest parent folder with a memory store, else `start` itself.
    """
    folder = start = os.path.realpath(start)
    without_git = ""
    while not os.path.lexists(os.path.join(folder, ".git")):
        if not without_git and _has_store(folder):
            without_git = folder
        parent = os.path.dirname(folder)
        if parent == folder:
            return without_git or start
        folder = parent
    return folder


def _has_store(folder: str) -> bool:
    """Return whether a folder has a memory store of its own; that in the host's config folder is the user's."""
    own, config = os.path.join(folder, ".claude"), config_folder()
    return os.path.isdir(os.path.join(own, "memory")) and (config is None or os.path.realpath(config) != own)


def git_folder(root: str) -> str | None:
    """Return the git folder of a project: `.git`, or for a worktree the folder that its `.git` file names; None without git."""
    path = os.path.join(root, ".git")
    if os.path.isdir(path):
        return path
    target = _pointer(path, "gitdir:")
    return os.path.normpath(os.path.join(root, target)) if target else None


def main_worktree(root: str) -> str | None:
    """Return the main worktree of a linked one; None for every other project.

    A `.git` file counts only when the main repository points back at it: anyone can write such a file.
    """
    linked = git_folder(root)
    if linked is None or linked == os.path.join(root, ".git"):
        return None
    back = _pointer(os.path.join(linked, "gitdir"), "")
    common, folder = os.path.split(os.path.dirname(linked))
    if not back or folder != "worktrees" or os.path.basename(common) != ".git":
        return None
    points_back = os.path.realpath(os.path.join(linked, back)) == os.path.realpath(os.path.join(root, ".git"))
    return os.path.realpath(os.path.dirname(common)) if points_back else None


def _pointer(path: str, prefix: str) -> str:
    try:
        text = read_regular(path, _MAX_POINTER)[0].decode("utf-8", "replace").strip()
    except OSError:
        return ""
    return text[len(prefix) :].strip() if text.startswith(prefix) else ""


class Paths:
    """The folders of one project and its user; every path is absolute."""

    def __init__(self, launch: str) -> None:
        self.launch_dir = os.path.realpath(launch)
        self.project_root = project_root(launch)
        name = _slug(os.path.basename(self.project_root))
        self.project_key = "%s-%s" % (name, digest(os.fsencode(self.project_root), 6))
        self.config_dir = config_folder()
        self.state_dir, self.why_no_state = state_folder(self.config_dir, self.project_root)

    def state(self, *parts: str) -> str:
        """Return a path in the state folder. Raises RuntimeError without one: callers check `state_dir` first."""
        if self.state_dir is None:
            raise RuntimeError(self.why_no_state)
        return os.path.join(self.state_dir, *parts)

    def lock(self, name: str, wait: float = _LOCK_WAIT) -> FileLock:
        """Return a lock of this name, awaited for `wait` seconds; it is in the state folder, so no lock files appear in a repository."""
        make_folder(self.state("locks"))
        return FileLock(self.state("locks", name + ".lock"), wait)


def _slug(name: str) -> str:
    letters = "".join(c if c.isascii() and c.isalnum() else "-" for c in name.lower()).strip("-")
    return letters[:40].strip("-") or "project"


def load_data(*parts: str) -> dict[str, Any]:
    """Read the object in `config/PARTS.json`, at each call; `("recall", "gate")` names `config/recall/gate.json`.

    Raises OSError when the file is missing, and ValueError when it holds no JSON.
    """
    # Unbuffered: opening it as a text file costs more than the read.
    with open(data_path(*parts) + ".json", "rb", buffering=0) as file:
        return as_object(loads(file.read().decode("utf-8"), joins=True))


def session_file(paths: Paths, session: str, part: str = "") -> str:
    """Return the path of a session's state file, or of one `part` of its state, such as `drift`.

    Its name is a digest, because a session id from outside must not become a path. Raises RuntimeError without a state folder.
    """
    stem = digest(session.encode("utf-8", "replace"), 8)
    return paths.state("sessions", "%s.%s.json" % (stem, part) if part else stem + ".json")


def read_state(path: str, limit: int = _MAX_BYTES) -> State:
    """Return the object in a state file; empty when the file is missing, damaged, or larger than `limit` bytes."""
    try:
        return as_object(loads(read_regular(path, limit)[0].decode("utf-8")))
    except (OSError, ValueError):
        return {}


def write_state(path: str, value: State, *, durable: bool = False) -> None:
    """Replace a state file atomically, making its folder first. Raises OSError."""
    make_folder(os.path.dirname(path))
    replace_file(path, dumps(value).encode("ascii"), durable=durable)


def read_to_change(path: str, limit: int = _MAX_BYTES) -> State:
    """Return the object in a state file that will be replaced; empty if it is missing, or damaged, and then it is renamed first.

    Raises OSError if it cannot be read: it must not count as empty, because all that it holds would be lost.
    """
    try:
        return as_object(loads(read_regular(path, limit)[0].decode("utf-8")))
    except FileNotFoundError:
        return {}
    except ValueError:
        os.replace(path, path + ".damaged")
        return {}


class StateChange:
    """The object in a state file, to be changed inside a `with` block, in which other changes wait; an empty one deletes the file.

    Raises OSError, including Busy if another change lasts for `wait` seconds. An exception in the block changes nothing.
    """

    def __init__(self, path: str, wait: float = _CHANGE_WAIT) -> None:
        self._path = path
        self._lock = FileLock(path + ".lock", wait)
        self._state: State = {}
        self._before = ""

    def __enter__(self) -> State:
        make_folder(os.path.dirname(self._path))
        self._lock.__enter__()
        try:
            self._state = read_to_change(self._path)
            self._before = dumps(self._state)
        except BaseException:
            self._lock.__exit__()
            raise
        return self._state

    def __exit__(self, kind: object, *_: object) -> None:
        try:
            if kind is None and dumps(self._state) != self._before:
                if self._state:
                    write_state(self._path, self._state)
                else:
                    remove_file(self._path)
        finally:
            self._lock.__exit__()


def record_once(path: str, name: str, value: object) -> bool:
    """Record a value under a name in a state file; return False if it is there already, or cannot be recorded.

    What the user is told once must not be told on every occasion because a disk is full.
    """
    try:
        with StateChange(path) as state:
            is_new = state.get(name) != value
            state[name] = value
    except OSError:
        return False
    return is_new
