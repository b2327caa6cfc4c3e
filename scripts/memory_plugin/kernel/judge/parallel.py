"""Calls made side by side, and never waited for beyond the deadline."""

from __future__ import annotations

from threading import Thread
from typing import TYPE_CHECKING

from .outcome import Failed, Outcome

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..clock import Deadline
    from .backends import Backend
    from .wire import Call

__all__ = ["make_calls"]


def make_calls(backend: Backend, calls: Sequence[Call], deadline: Deadline) -> list[Outcome]:
    """What each call came to.

    Each has a thread, because looking up a name knows no time-out; one that still waits there at the deadline is
    left behind, and as a daemon keeps no process from ending.
    """
    outcomes = [Outcome() for _ in calls]
    threads = []
    for call, outcome in zip(calls, outcomes):
        thread = Thread(target=_make, args=(backend, call, deadline, outcome), daemon=True)
        try:
            thread.start()
        except RuntimeError:
            outcome.fail("network", "no thread could be started").done = True
        else:
            threads.append(thread)
    for thread in threads:
        thread.join(deadline.remaining())
    return [_as_it_stands(outcome, deadline) for outcome in outcomes]


def _make(backend: Backend, call: Call, deadline: Deadline, outcome: Outcome) -> None:
    """What a thread does: fill the outcome, whatever happens."""
    started = deadline.elapsed_ms()
    try:
        backend.answer(call, deadline, outcome)
    except Failed as failed:
        outcome.fail(failed.name, failed.detail, failed.wait)
    except Exception as error:
        outcome.fail("error", type(error).__name__)
    outcome.ms = round(deadline.elapsed_ms() - started, 1)
    outcome.done = True


def _as_it_stands(outcome: Outcome, deadline: Deadline) -> Outcome:
    """A copy that the call's thread, should it still run, changes no more."""
    done = outcome.done
    copy = Outcome()
    for name in Outcome.__slots__:
        setattr(copy, name, getattr(outcome, name))
    if not done:
        copy.fail("timeout").ms = deadline.elapsed_ms()
    return copy
