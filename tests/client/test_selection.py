"""Tests with the real client run only if the run names them."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from tests.client.conftest import is_selected


@pytest.mark.parametrize(
    ("arguments", "markexpr", "expected"),
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
def test_client_tests_run_only_if_named(
    monkeypatch: pytest.MonkeyPatch, arguments: list[str], markexpr: str, *, expected: bool
) -> None:
    monkeypatch.delenv("MEMORY_TEST_CLIENT", raising=False)
    config = SimpleNamespace(args=arguments, option=SimpleNamespace(markexpr=markexpr))
    assert is_selected(config) == expected  # type: ignore[arg-type]


def test_client_tests_always_run_if_required(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMORY_TEST_CLIENT", "required")
    config = SimpleNamespace(args=["tests"], option=SimpleNamespace(markexpr=""))
    assert is_selected(config)  # type: ignore[arg-type]
