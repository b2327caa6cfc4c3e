"""Ledger records as the hooks write them, for tests of what a report reads."""

from __future__ import annotations

__all__ = ["CANDIDATE", "DRIFT", "HEAD", "RECALL", "SCORE"]

HEAD = {"schema": 1, "time": "2026-11-20T10:00:00Z", "session": "s1", "project": "shop-1", "version": "0.1.0"}
CANDIDATE = {
    "key": "project:decision/a",
    "confidence": 0.31,
    "pointer_confidence": 0.3,
    "score": 4.0,
}
RECALL = {
    **HEAD,
    "place": "prompt",
    "outcome": "injected",
    "reason": "",
    "answered_by": "fts5",
    "candidates": [CANDIDATE],
    "injected": ["project:decision/a"],
    "pointed": ["user:preference/b"],
    "tokens": 90,
    "characters": 360,
    "found": 1,
    "inject_threshold": 0.5,
    "pointer_threshold": 0.35,
    "problem": "",
    "prompt_id": "p1",
    "ms": 12.5,
}
SCORE = {
    **HEAD,
    "kind": "score",
    "id": "r1",
    "padding_count": 2,
    "preamble_words": 2,
    "density": 0.567,
    "query_type": "directive",
    "threshold": 0.52,
    "gate": "g",
    "escalate": True,
    "drift": ["padding"],
    "matches": [[0, 4, "praise-opening"], [9, 12, "offer"]],
    "words": 30,
    "audit": False,
    "mode": "rules",
    "prompt_id": "p1",
    "model": "claude-opus-5-5",
    "transcript": "/t.jsonl",
    "record": "a",
    "turn": 1,
}
DRIFT = {**HEAD, "kind": "drift", "id": "r1", "arm": "corrected", "categories": ["padding"]}
