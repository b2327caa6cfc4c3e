"""A program in a terminal: tmux with a private server, apart from the user's own."""

from __future__ import annotations

import re
import shlex
import subprocess
import time

READY = "\u276f"  # the client's prompt


class Terminal:
    """A program in a window of 140 x 50 characters."""

    def __init__(self, socket: str, command: list[str], folder: str, env: dict[str, str]) -> None:
        self.socket, self.env = socket, env
        size = ["-x", "140", "-y", "50"]
        self.tmux("-f", "/dev/null", "new-session", "-d", *size, "-c", folder, "exec " + shlex.join(command))

    def tmux(self, *args: str) -> str:
        """Run a tmux command; return its output, or "" if it failed because the program has ended."""
        command = ["tmux", "-S", self.socket, *args]
        done = subprocess.run(command, env=self.env, capture_output=True, check=False)
        return done.stdout.decode("utf-8", "replace")

    def is_alive(self) -> bool:
        """Return whether the program is still running."""
        return bool(self.tmux("list-sessions"))

    def screen(self) -> str:
        """Return the screen and what has scrolled away."""
        return self.tmux("capture-pane", "-p", "-S", "-2000")

    def visible(self) -> str:
        """Return the visible screen."""
        return self.tmux("capture-pane", "-p")

    def submit(self, text: str) -> None:
        """Type a line and press Enter once the line is visible. Sent together, Enter would be a pasted line break."""
        before = self.visible().count(text)
        self.tmux("send-keys", "-l", text)
        end = time.monotonic() + 10
        while self.visible().count(text) <= before and self.is_alive() and time.monotonic() < end:
            time.sleep(0.1)
        time.sleep(0.3)
        self.tmux("send-keys", "Enter")

    def answer(self, dialog: str, key: str, seconds: float = 30) -> None:
        """Press a key until the dialog is gone. A key is lost if the client is not yet listening."""
        self.settle(seconds)
        end = time.monotonic() + seconds
        while dialog in self.visible() and time.monotonic() < end:
            self.tmux("send-keys", key)
            patience = time.monotonic() + 3
            while dialog in self.visible() and time.monotonic() < patience:
                time.sleep(0.1)
        assert dialog not in self.visible(), "%s did not answer the dialog:\n%s" % (key, self.visible())

    def settle(self, seconds: float = 30) -> str:
        """Return the screen once it stops changing."""
        end, before, screen = time.monotonic() + seconds, "", self.visible()
        while screen != before and time.monotonic() < end:
            time.sleep(0.3)
            before, screen = screen, self.visible()
        return screen

    def wait(self, pattern: str, seconds: float = 30) -> str:
        """Return the screen once it shows the pattern. Raises TimeoutError with the last screen if it does not."""
        end, screen = time.monotonic() + seconds, ""
        while time.monotonic() < end and self.is_alive():
            screen = self.screen()
            if re.search(pattern, screen, re.DOTALL):
                return screen
            time.sleep(0.2)
        raise TimeoutError("%r was not seen on the screen:\n%s" % (pattern, screen))

    def close(self) -> None:
        """End the program and its terminal."""
        self.tmux("kill-server")
