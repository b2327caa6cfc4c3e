"""Headless Chromium, driven over a pipe with the DevTools protocol; the tests need nothing but the browser itself."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import sys
import time
from typing import Any

__all__ = ["NAMES", "Browser", "find_browser"]

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
_SECONDS = 60.0
# The browser reads commands from descriptor 3 and answers on 4. Our descriptors may have these numbers, so they are moved first.
_LAUNCH = (
    "import os, sys; a, b = (os.dup2(int(n), to, True) for n, to in zip(sys.argv[1:3], (20, 21)));"
    " os.dup2(a, 3, True); os.dup2(b, 4, True); os.execvp(sys.argv[3], sys.argv[3:])"
)


def find_browser() -> str | None:
    """Return the path of a browser: MEMORY_TEST_CHROMIUM, else the first on the PATH; None if there is none."""
    chosen = os.environ.get("MEMORY_TEST_CHROMIUM")
    return chosen or next(filter(None, map(shutil.which, NAMES)), None)


class Browser:
    """A browser process with one page; `requests` holds the URL of each request, `messages` the log and the dialogs."""

    def __init__(self, program: str, profile: str) -> None:
        to_browser, self._out = os.pipe()
        self._in, from_browser = os.pipe()
        command = [
            program,
            "--headless=new",
            "--remote-debugging-pipe",
            "--user-data-dir=" + profile,
            "--no-sandbox",
        ]
        command += [
            "--disable-gpu",
            "--no-first-run",
            "--disable-extensions",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-quic",
            "--disable-sync",
            "--hide-scrollbars",
        ]
        self._process = subprocess.Popen(
            [sys.executable, "-c", _LAUNCH, str(to_browser), str(from_browser), *command],
            pass_fds=(to_browser, from_browser),
            env={**os.environ, "HOME": profile},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(to_browser)
        os.close(from_browser)
        self._buffer = b""
        self._number = 0
        self._session = ""
        self.requests: list[str] = []
        self.messages: list[str] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Network", "Runtime", "Log"):
            self.call(domain + ".enable")

    def call(self, method: str, **params: object) -> Any:  # noqa: ANN401 (what the protocol says)
        """Send one command and return its result."""
        self._number += 1
        message: dict[str, object] = {"id": self._number, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        while True:
            reply = self._read()
            if reply.get("id") == self._number:
                assert "error" not in reply, reply
                return reply["result"]

    def show(self, path: str, width: int, scheme: str, height: int = 900) -> None:
        """Load a file at a width, in the color scheme `light` or `dark`."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=width < 600,
        )
        self.call(
            "Emulation.setEmulatedMedia",
            media="screen",
            features=[{"name": "prefers-color-scheme", "value": scheme}],
        )
        self.call("Page.navigate", url="file://" + path)
        end = time.monotonic() + _SECONDS
        while self.evaluate("document.readyState + location.protocol") != "completefile:":
            assert time.monotonic() < end
            time.sleep(0.05)

    def evaluate(self, expression: str) -> Any:  # noqa: ANN401 (any value of JavaScript)
        """Return the value of an expression in the page; the page's content security policy does not apply to it."""
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in result, result
        return result["result"].get("value")

    def screenshot(self, path: str) -> None:
        """Write a screenshot of the whole page, as PNG."""
        data = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True)["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))

    def close(self) -> None:
        """End the browser."""
        os.close(self._out)
        os.close(self._in)
        self._process.terminate()
        self._process.wait(timeout=_SECONDS)

    def _read(self) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            part = os.read(self._in, 1 << 16)
            assert part, "the browser ended"
            self._buffer += part
        line, _, self._buffer = self._buffer.partition(b"\0")
        message: dict[str, Any] = json.loads(line)
        method = message.get("method")
        if method == "Network.requestWillBeSent":
            self.requests.append(message["params"]["request"]["url"])
        elif method == "Log.entryAdded":
            self.messages.append(message["params"]["entry"]["text"])
        elif method == "Page.javascriptDialogOpening":
            self.messages.append("dialog: " + message["params"]["message"])
        return message
