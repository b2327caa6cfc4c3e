"""When the tests with the real client run."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from tests.client.conftest import is_wanted


@pytest.mark.parametrize(
    ("arguments", "marks", "wanted"),
    [
        (["tests"], "", False),
        ([], "", False),
        (["tests/hooks"], "", False),
        (["tests/client"], "", True),
        (["tests/client/test_recall.py::test_a_memory"], "", True),
        (["client"], "", True),
        (["tests"], "client", True),
        (["tests"], "client and not terminal", True),
    ],
)
def test_a_run_has_to_name_them(
    monkeypatch: pytest.MonkeyPatch, arguments: list[str], marks: str, *, wanted: bool
) -> None:
    monkeypatch.delenv("MEMORY_TEST_CLIENT", raising=False)
    config = SimpleNamespace(args=arguments, option=SimpleNamespace(markexpr=marks))
    assert is_wanted(config) == wanted  # type: ignore[arg-type]


def test_a_required_client_always_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMORY_TEST_CLIENT", "required")
    config = SimpleNamespace(args=["tests"], option=SimpleNamespace(markexpr=""))
    assert is_wanted(config)  # type: ignore[arg-type]
