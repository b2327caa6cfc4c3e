"""The seven score configs: found by name, type and scale, and created only where they are missing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...kernel.judge.outcome import Failed
from ...kernel.judge.wire import field
from ..data import load_table
from ..dimensions import OVERALL, dimensions

if TYPE_CHECKING:
    from .client import Client

__all__ = ["ensure", "existing", "wanted"]

_PER_PAGE = 50
_MOST_PAGES = 100


def wanted() -> dict[str, dict[str, Any]]:
    """The configs by name, as the server takes them."""
    found: dict[str, dict[str, Any]] = {}
    for dimension in dimensions().values():
        config: dict[str, Any] = {
            "name": dimension.id,
            "dataType": "CATEGORICAL" if dimension.categorical else "NUMERIC",
        }
        if dimension.categorical:
            config["categories"] = [
                {"label": label, "value": value} for value, label in enumerate(dimension.labels)
            ]
        else:
            config.update(minValue=0, maxValue=1)
        found[dimension.id] = {**config, "description": dimension.description}
    description = load_table("dimensions")["overall"]["description"]
    found[OVERALL] = {
        "name": OVERALL,
        "dataType": "NUMERIC",
        "minValue": 0,
        "maxValue": 1,
        "description": description,
    }
    return found


def existing(client: Client) -> dict[str, str]:
    """The ids of those configs that are there, by name; archived ones are not. The server allows several of one name: the first counts.

    Raises Failed.
    """
    ours = wanted()
    found: dict[str, str] = {}
    for page in range(1, _MOST_PAGES + 1):
        reply = client.get("/score-configs", {"page": page, "limit": _PER_PAGE})
        rows = field(reply.payload, "data")
        if reply.status != 200 or not isinstance(rows, list):
            raise Failed("http_%d" % reply.status, "score configs could not be listed")
        for row in rows:
            name = field(row, "name")
            if isinstance(name, str) and name in ours and _same(row, ours[name]):
                found.setdefault(name, str(field(row, "id")))
        pages = field(reply.payload, "meta", "totalPages")
        if not rows or not isinstance(pages, int) or page >= pages:
            break
    return found


def _same(row: Any, config: dict[str, Any]) -> bool:  # noqa: ANN401 (what the server has)
    if (
        row.get("isArchived") is not False
        or row.get("dataType") != config["dataType"]
        or not isinstance(row.get("id"), str)
    ):
        return False
    if config["dataType"] == "NUMERIC":
        return bool(row.get("minValue") == config["minValue"] and row.get("maxValue") == config["maxValue"])
    levels = row.get("categories")
    if not isinstance(levels, list):
        return False
    return [(field(level, "label"), field(level, "value")) for level in levels] == [
        (c["label"], c["value"]) for c in config["categories"]
    ]


def ensure(client: Client) -> dict[str, str]:
    """The ids of all configs by name, the missing ones created. Raises Failed."""
    found = existing(client)
    for name, config in wanted().items():
        if name not in found:
            reply = client.post("/score-configs", config)
            identity = field(reply.payload, "id")
            if reply.status not in (200, 201) or not isinstance(identity, str):
                raise Failed("http_%d" % reply.status, "the score config %s could not be created" % name)
            found[name] = identity
    return found
