"""JSON objects in files: the plugin's own data under `config/`, and state that may be lost without harm, such as caches and marks.

Approvals and spending are stored elsewhere: for them an unreadable file is an error and must never count as empty.
"""

from __future__ import annotations

import os

from .fastjson import digest, dumps, loads
from .files import make_folder, read_regular, replace_file
from .paths import data_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .paths import Paths

_MAX_BYTES = 1 << 20


def load_data(*parts: str) -> dict[str, Any]:
    """Read the object in `config/PARTS.json`, at each call; `("recall", "gate")` names `config/recall/gate.json`.

    Raises OSError when the file is missing, and ValueError when it holds no JSON object.
    """
    path = data_path(*parts) + ".json"
    # Unbuffered: opening it as a text file costs more than the read.
    with open(path, "rb", buffering=0) as file:
        value = loads(file.read().decode("utf-8"))
    if not isinstance(value, dict):
        raise ValueError("%s: expected a JSON object" % path)  # noqa: TRY004 (damaged data, not a wrong argument)
    return value


def session_file(paths: Paths, session: str, part: str = "") -> str:
    """Return the path of a session's state file, or of one `part` of its state, such as `drift`.

    Its name is a digest, because a session id from outside must not become a path. Raises RuntimeError without a state folder.
    """
    stem = digest(session.encode("utf-8", "replace"), 8)
    return paths.state("sessions", "%s.%s.json" % (stem, part) if part else stem + ".json")


def read_state(path: str, limit: int = _MAX_BYTES) -> dict[str, Any]:
    """Return the object in a state file; empty when the file is missing, damaged, or larger than `limit` bytes."""
    try:
        value = loads(read_regular(path, limit)[0].decode("utf-8"))
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}


def write_state(path: str, value: dict[str, Any], *, durable: bool = False) -> None:
    """Replace a state file atomically, making its folder first. Raises OSError."""
    make_folder(os.path.dirname(path))
    replace_file(path, dumps(value).encode("ascii"), durable=durable)
