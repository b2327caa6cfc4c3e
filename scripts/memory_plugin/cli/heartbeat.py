"""A heartbeat on the terminal for work that takes longer than a second."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Thread
from time import monotonic

from .console import Console

_EVERY = 1.0


@contextmanager
def heartbeat(console: Console, label: str) -> Iterator[None]:
    """Print the elapsed time once a second, unless the command shows progress of its own."""
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
