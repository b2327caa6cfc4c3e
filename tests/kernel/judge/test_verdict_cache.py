"""The cache of verdicts."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from memory_plugin.kernel import clock
from memory_plugin.kernel.judge import verdict_cache
from memory_plugin.kernel.judge.verdict_cache import VerdictCache

VALUES = {"chosen": [1], "dropped": 0}


def test_what_was_kept_is_found_by_another_process(tmp_path: Path) -> None:
    VerdictCache(str(tmp_path)).put({"k": VALUES})
    assert VerdictCache(str(tmp_path)).get("k") == VALUES
    assert VerdictCache(str(tmp_path)).get("other") is None


def test_what_is_old_is_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    VerdictCache(str(tmp_path)).put({"k": VALUES})
    later = clock.now() + 8 * 86400
    monkeypatch.setattr(verdict_cache, "now", lambda: later)
    assert VerdictCache(str(tmp_path)).get("k") is None
    VerdictCache(str(tmp_path)).put({"new": VALUES})
    assert "k" not in (tmp_path / "verdicts.json").read_text(encoding="ascii").split('"')


def test_the_file_has_a_bound(tmp_path: Path) -> None:
    for at in range(500):
        if at % 50 == 0:
            VerdictCache(str(tmp_path)).put({"k%d.%d" % (at, more): VALUES for more in range(50)})
    kept = VerdictCache(str(tmp_path))
    assert kept.clear() == 400
    assert kept.clear() == 0
    assert not os.path.exists(str(tmp_path / "verdicts.json"))


@pytest.mark.parametrize(
    "content",
    [b"", b"[]", b"{", b'{"k": 1}', b'{"k": [1, {}]}', b'{"k": [1.0, []]}', b"\xff", b'{"k":[1e999,{}]}'],
)
def test_a_damaged_file_is_an_empty_cache(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "verdicts.json").write_bytes(content)
    cache = VerdictCache(str(tmp_path))
    assert cache.get("k") is None
    cache.put({"k": VALUES})
    assert cache.get("k") == VALUES
