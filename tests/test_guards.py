"""The guard refuses the real home and other machines, records each refusal, and allows everything else."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from contextlib import closing

import pytest

from tests.guards import Guard


def take_refused(guard: Guard) -> list[str]:
    """Return what was refused so far, and clear the guard's list, which would fail the test."""
    refused, guard.refused[:] = list(guard.refused), []
    return refused


def test_a_write_into_the_real_home_is_refused(guard: Guard) -> None:
    with pytest.raises(PermissionError):
        open(os.path.join(guard.home, "memory-test"), "w", encoding="utf-8")  # noqa: SIM115
    with pytest.raises(PermissionError):
        os.mkdir(os.path.join(guard.home, ".claude-test"))
    assert len(take_refused(guard)) == 2
    assert not os.path.exists(os.path.join(guard.home, "memory-test"))


def test_the_home_of_a_test_is_not_the_real_one(guard: Guard) -> None:
    assert os.path.realpath(os.path.expanduser("~")) != guard.home
    assert os.environ["CLAUDE_CONFIG_DIR"].startswith(os.path.expanduser("~"))


def test_another_machine_is_refused_and_loopback_is_not(guard: Guard) -> None:
    with (
        closing(socket.socket()) as server,
        closing(socket.socket()) as near,
        closing(socket.socket()) as far,
    ):
        server.bind(("127.0.0.1", 0))
        server.listen()
        near.connect(server.getsockname())
        with pytest.raises(PermissionError):
            far.connect(("192.0.2.1", 80))
    with pytest.raises(PermissionError):
        socket.getaddrinfo("example.org", 443)
    assert len(take_refused(guard)) == 2


def test_a_process_with_the_real_home_is_refused(guard: Guard) -> None:
    with pytest.raises(PermissionError):
        subprocess.run([sys.executable, "-c", ""], env={"HOME": guard.home}, check=True)
    assert len(take_refused(guard)) == 1
