"""Ledgers of scored, judged and drifted replies, written as the plugin writes them."""

from __future__ import annotations

from typing import Any

from memory_plugin.kernel.ledger import Ledger
from memory_plugin.kernel.paths import Places

__all__ = ["drifted", "judged", "said", "scored"]


def scored(places: Places, identity: str, session: str = "s", **fields: object) -> None:
    """A scored reply."""
    row: dict[str, Any] = {
        "kind": "score", "id": identity, "padding_count": 0, "matches": [], "preamble_words": 0, "words": 50, "density": 0.6,
        "cut": False, "query_type": "code", "threshold": 0.46, "gate": "clean", "escalate": False, "audit": False,
        "mode": "hybrid", "drift": [], "prompt_id": identity, "model": "m", "transcript": "", "record": "", "turn": 1,
    }  # fmt: skip
    Ledger(places.state(), "scores").append(session, places.project_key, {**row, **fields})


def judged(places: Places, identity: str, session: str = "s", **fields: object) -> None:
    """A judge's opinion on one."""
    levels = {"SyA": 0, "VDet": 0, "EpAd": 0, "EPad": 0}
    row: dict[str, Any] = {
        "kind": "judged", "id": identity, "why": "escalated", "outcome": "ok", "levels": levels, "clamped": 0, "phrases": [],
        "missed": [], "agrees": True,
    }  # fmt: skip
    Ledger(places.state(), "scores").append(session, places.project_key, {**row, **fields})


def drifted(places: Places, identity: str, arm: str, session: str = "s", **fields: object) -> None:
    """A drift."""
    row: dict[str, Any] = {
        "kind": "drift",
        "id": identity,
        "categories": ["padding"],
        "severity": "medium",
        "arm": arm,
    }
    Ledger(places.state(), "drift").append(session, places.project_key, {**row, **fields})


def said(places: Places, identity: str, session: str = "s") -> None:
    """A correction that was put before Claude."""
    Ledger(places.state(), "drift").append(session, places.project_key, {"kind": "said", "id": identity})
