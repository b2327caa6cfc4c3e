"""An index that was redacted by other hygiene rules is not used."""

from __future__ import annotations

from pathlib import Path

import pytest

from memory_plugin.recall import index_file
from memory_plugin.recall.index_file import IndexOutdated, open_index, set_redaction
from memory_plugin.recall.index_refresh import create_index
from tests.config.rules_digest import rules_digest


def test_the_digest_is_that_of_the_rules() -> None:
    assert rules_digest() == index_file.RULES_DIGEST, "run python3 tests/config/rules_digest.py"


@pytest.mark.parametrize("mark", [0, 1234])
def test_an_index_of_other_rules_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mark: int
) -> None:
    path = str(tmp_path / "a.sqlite3")
    monkeypatch.setattr(index_file, "_version", [0])
    set_redaction(mark)
    create_index(path).close()
    open_index(path).close()
    monkeypatch.setattr(index_file, "RULES_DIGEST", index_file.RULES_DIGEST ^ 1)
    set_redaction(mark)
    with pytest.raises(IndexOutdated):
        open_index(path)
