"""State as version 0.1.0 wrote it: a memory with its digest, and a store's trust record."""

from __future__ import annotations

import json
import os

from memory_plugin.kernel.paths import Paths
from memory_plugin.memories.stores import Store, store_key

POSTGRES = {
    "title": "Use Postgres",
    "content": {"decision": "Billing runs on Postgres."},
    "tags": ["db"],
    "related_files": ["a.py"],
    "asked_as": ["which database"],
    "expires_at": "2999-01-01",
}
POSTGRES_DIGEST = "e5c7b799867c2b1cdf5eb967aa585f61"


def write_trust_record(paths: Paths, store: Store, /, trusted: object, **fields: object) -> str:
    """Write the trust record of a store and return its path; `trusted` holds the digests by memory key, `fields` replace others."""
    record = {"schema": 1, "store": os.path.realpath(store.root), "mine": True, "trusted": trusted}
    path = paths.state("trust", store_key(store) + ".json")
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        json.dump({**record, "pending": {}, "notified": "", "log": None, "doubted": False, **fields}, file)
    return path
