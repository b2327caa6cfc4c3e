"""A Langfuse server on loopback, and a bench that uses it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing

import pytest

from tests.sessions.bench import IDS, Bench
from tests.sessions.langfuse.server import KEYS, Langfuse


@pytest.fixture
def langfuse(request: pytest.FixtureRequest) -> Iterator[Langfuse]:
    """Yield a server, in the mode of the test's parameter if it has one."""
    with closing(Langfuse(getattr(request, "param", "v4"))) as server:
        yield server


@pytest.fixture
def graded(make_bench: Callable[..., Bench], langfuse: Langfuse, monkeypatch: pytest.MonkeyPatch) -> Bench:
    """Return a bench with two graded sessions that uses the server."""
    monkeypatch.setenv("LANGFUSE_PUBLIC_KEY", KEYS[0])
    monkeypatch.setenv("LANGFUSE_SECRET_KEY", KEYS[1])
    bench = make_bench(langfuse={"host": langfuse.url})
    bench.script()
    for identity in IDS[:2]:
        bench.grade(bench.transcript(identity))
    return bench
