"""A program in a terminal: tmux with a private server, so that nothing of the user's own is touched."""

from __future__ import annotations

import re
import shlex
import subprocess
import time

READY = "\u276f"  # the client's prompt


class Terminal:
    """One program in a window of 140 x 50 characters."""

    def __init__(self, socket: str, command: list[str], folder: str, env: dict[str, str]) -> None:
        self.socket, self.env = socket, env
        size = ["-x", "140", "-y", "50"]
        self.tmux("-f", "/dev/null", "new-session", "-d", *size, "-c", folder, "exec " + shlex.join(command))

    def tmux(self, *args: str) -> str:
        """Return the output of a tmux command; "" when it failed, as it does once the program has ended."""
        command = ["tmux", "-S", self.socket, *args]
        done = subprocess.run(command, env=self.env, capture_output=True, check=False)
        return done.stdout.decode("utf-8", "replace")

    def alive(self) -> bool:
        """Whether the program still runs."""
        return bool(self.tmux("list-sessions"))

    def screen(self) -> str:
        """Return what is to be seen, with what has scrolled away."""
        return self.tmux("capture-pane", "-p", "-S", "-2000")

    def visible(self) -> str:
        """Return what is to be seen now."""
        return self.tmux("capture-pane", "-p")

    def submit(self, text: str) -> None:
        """Type a line; Enter comes once it is seen and apart, for a paste would keep it as a line break."""
        before = self.visible().count(text)
        self.tmux("send-keys", "-l", text)
        end = time.monotonic() + 10
        while self.visible().count(text) <= before and self.alive() and time.monotonic() < end:
            time.sleep(0.1)
        time.sleep(0.3)
        self.tmux("send-keys", "Enter")

    def answer(self, dialog: str, key: str, seconds: float = 30) -> None:
        """Press a key until the dialog is gone: a key that comes before the client listens to it is lost."""
        self.settle(seconds)
        end = time.monotonic() + seconds
        while dialog in self.visible() and time.monotonic() < end:
            self.tmux("send-keys", key)
            patience = time.monotonic() + 3
            while dialog in self.visible() and time.monotonic() < patience:
                time.sleep(0.1)
        assert dialog not in self.visible(), "%s did not answer the dialog:\n%s" % (key, self.visible())

    def settle(self, seconds: float = 30) -> str:
        """Return what is to be seen once it stays as it is."""
        end, before, screen = time.monotonic() + seconds, "", self.visible()
        while screen != before and time.monotonic() < end:
            time.sleep(0.3)
            before, screen = screen, self.visible()
        return screen

    def wait(self, pattern: str, seconds: float = 30) -> str:
        """Return the screen once the pattern is seen; TimeoutError with the last screen when it is not."""
        end, screen = time.monotonic() + seconds, ""
        while time.monotonic() < end and self.alive():
            screen = self.screen()
            if re.search(pattern, screen, re.DOTALL):
                return screen
            time.sleep(0.2)
        raise TimeoutError("%r was not seen on the screen:\n%s" % (pattern, screen))

    def close(self) -> None:
        """End the program and its terminal."""
        self.tmux("kill-server")
