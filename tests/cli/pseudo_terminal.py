"""A command in a pseudo-terminal, as a person uses it: read until a question, press a key."""

from __future__ import annotations

import os
import select
import subprocess
import time

from tests.project import Project


class PseudoTerminal:
    """One run of the command line; `pressed` counts the keys, and `seen` is everything that was printed."""

    def __init__(self, project: Project, *arguments: str, **env: str | None) -> None:
        import pty

        self.seen = ""
        self.pressed = 0
        self._handle, inner = pty.openpty()
        script = os.path.join(project.plugin_root, "scripts", "memory.py")
        command = [project.python, script, *arguments, "--root", project.root]
        full = project.environment(TERM="dumb", **env)
        self._process = subprocess.Popen(
            command,
            stdin=inner,
            stdout=inner,
            stderr=inner,
            env=full,
            cwd=project.root,
            start_new_session=True,
        )
        os.close(inner)

    def until(self, text: str, seconds: float = 60) -> str:
        """Return the output up to a text. Raises AssertionError with the whole output if the text does not come."""
        start, end = len(self.seen), time.monotonic() + seconds
        while text not in self.seen[start:]:
            ready = select.select([self._handle], [], [], max(0.0, end - time.monotonic()))[0]
            piece = self._read() if ready else b""
            assert piece, "%r was not printed: %s" % (text, self.seen)
            self.seen += piece.decode("utf-8", "replace")
        return self.seen[start:]

    def press(self, keys: str) -> None:
        """Press keys once the program waits for one, because it discards what is typed before its question."""
        self._wait_for_question()
        self.pressed += len(keys)
        os.write(self._handle, keys.encode())

    def type(self, text: str) -> None:
        """Type a text to a program that reads lines."""
        os.write(self._handle, text.encode())

    def end(self, seconds: float = 60) -> int:
        """Return the exit code after reading everything."""
        end = time.monotonic() + seconds
        while select.select([self._handle], [], [], max(0.0, end - time.monotonic()))[0]:
            piece = self._read()
            if not piece:
                break
            self.seen += piece.decode("utf-8", "replace")
        code = self._process.wait(max(1.0, end - time.monotonic()))
        os.close(self._handle)
        return code

    def _read(self) -> bytes:
        try:
            return os.read(self._handle, 65536)
        except OSError:  # the program has ended
            return b""

    def _wait_for_question(self) -> None:
        """Wait until the program has switched its terminal to single keys."""
        import termios

        end = time.monotonic() + 10
        while termios.tcgetattr(self._handle)[3] & termios.ICANON and time.monotonic() < end:
            time.sleep(0.005)
