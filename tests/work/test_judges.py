"""What is said about the server that a judge is asked at."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from memory_plugin.kernel.judge.credentials import AddressSource
from memory_plugin.work.judges import where


def test_ignored_headers_of_the_user_are_named() -> None:
    source = AddressSource("https://api.anthropic.com", "", "vendor")
    judge: Any = SimpleNamespace(backend="anthropic", address_source=lambda: source)
    caller = SimpleNamespace(ignored={"ANTHROPIC_CUSTOM_HEADERS"})
    context: Any = SimpleNamespace(taint=SimpleNamespace(names={}), caller=caller)
    address, ignored = where(context, [judge])
    assert address == "Address: api.anthropic.com, the vendor's own address."
    assert ignored.startswith("ANTHROPIC_CUSTOM_HEADERS is ignored: only the environment sets it")
