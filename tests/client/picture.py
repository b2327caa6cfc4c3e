"""Draw the README's picture from the real client's screen. `python3 -m tests.client.picture` writes both SVG files."""

from __future__ import annotations

import os
import re
import shutil
import sys
import tempfile

from rich.console import Console
from rich.terminal_theme import DEFAULT_TERMINAL_THEME, DIMMED_MONOKAI, TerminalTheme
from rich.text import Text

from tests.client.binary import binary
from tests.client.first_recall import QUESTION, TITLE
from tests.client.plugin import make_repository, memory
from tests.client.sandbox import Sandbox
from tests.client.terminal import READY
from tests.project import PLUGIN_ROOT

COLUMNS = 80
BODY = "Nothing on staging outlives 03:00. Put test data into seeds/."
REPLY = (
    "Staging is reset every night at 03:00, so yesterday's test data is gone. Put it into seeds/ to keep it."
)
THEMES = {"light": DEFAULT_TERMINAL_THEME, "dark": DIMMED_MONOKAI}
FOLDER = os.path.join(PLUGIN_ROOT, "docs", "images")
_STYLES = re.compile(r"\x1b\[[0-9;]*m")


def screen(sandbox: Sandbox, theme: str = "dark") -> str:
    """Return what the client shows from the typed question to the end of the reply, with its escape codes for styles."""
    sandbox.theme = theme
    make_repository(sandbox)
    words = ("--category", "constraint", "--title", TITLE, "--body", BODY, "--file", "seeds/")
    memory(sandbox, "save", *words, "--asked-as", "why is my test data gone")
    sandbox.set_script({"default": {"text": REPLY}})
    terminal = sandbox.terminal("--plugin-dir", PLUGIN_ROOT)
    terminal.tmux("resize-window", "-x", str(COLUMNS), "-y", "40")
    terminal.wait(READY)
    terminal.submit(QUESTION)
    terminal.wait(r"keep\s+it\.")
    terminal.settle()
    lines = [line.rstrip() for line in terminal.tmux("capture-pane", "-p", "-e").splitlines()]
    plain = [_STYLES.sub("", line) for line in lines]
    begin = next(at for at, line in enumerate(plain) if QUESTION in line)
    last = max(at for at, line in enumerate(plain) if "keep it." in line)
    return "\n".join(lines[begin : last + 1]) + "\n"


def drawn(text: str, theme: TerminalTheme) -> str:
    """Return an SVG of a screen."""
    with open(os.devnull, "w", encoding="utf-8") as nowhere:
        console = Console(
            record=True, width=COLUMNS, file=nowhere, force_terminal=True, color_system="truecolor"
        )
        console.print(Text.from_ansi(text), end="")
        return console.export_svg(title="claude", theme=theme, unique_id="recall")


def words_of(svg: str) -> list[str]:
    """Return the texts of an SVG, without the client's own marks, which differ between versions."""
    texts = re.findall(r"<text[^>]*>([^<]*)</text>", svg)
    return re.findall(r"[\w:/.'?]+", " ".join(texts).replace("&#160;", " ").replace("&#x27;", "'"))


def path_of(name: str) -> str:
    """Return the path of the picture for a color scheme: light or dark."""
    return os.path.join(FOLDER, "recall-%s.svg" % name)


def main() -> int:
    """Write both pictures; return 1 if there is no client."""
    client = binary()
    if client is None:
        sys.stderr.write("no client: tests/client/install_client.sh installs it\n")
        return 1
    os.makedirs(FOLDER, exist_ok=True)
    for name, theme in THEMES.items():
        folder = tempfile.mkdtemp()
        try:
            with Sandbox(folder, client) as sandbox, open(path_of(name), "w", encoding="utf-8") as file:
                file.write(drawn(screen(sandbox, name), theme))
        finally:
            shutil.rmtree(folder, ignore_errors=True)  # detached work of the session may still write there
    return 0


if __name__ == "__main__":
    sys.exit(main())
