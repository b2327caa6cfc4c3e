"""The plugin's own data: JSON objects under `config/`."""

from __future__ import annotations

from .fastjson import loads
from .paths import data_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


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
