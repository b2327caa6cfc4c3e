"""A sign of life on the terminal for whatever takes longer than a second."""

from __future__ import annotations

from contextlib import contextmanager
from threading import Event, Thread
from time import monotonic
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .console import Console

__all__ = ["heartbeat"]

_EVERY = 1.0


@contextmanager
def heartbeat(console: Console, label: str) -> Iterator[None]:
    """Say once a second that the command still works and for how long, unless the command has said more itself."""
    done = Event()
    thread = Thread(target=_beat, args=(console, label, done), daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
        console.progress("")


def _beat(console: Console, label: str, done: Event) -> None:
    start = last = monotonic()
    while not done.wait(_EVERY - (monotonic() - last) % _EVERY):
        last = monotonic()
        if last - console.reported >= _EVERY:
            console.progress("%s: %d s" % (label, last - start), own=False)
