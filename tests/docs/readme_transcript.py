"""What `memory demo` prints, in whole on its page and in part at the top of the README. Run as a script, it updates both."""

from __future__ import annotations

import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BEGIN, END = "<!-- transcript -->\n", "<!-- end of transcript -->\n"
IN_README = (3, 4)  # one prompt that recalls, one that does not; the page has them all


def demo() -> str:
    """Return what `memory demo` prints now."""
    command = [sys.executable, os.path.join(ROOT, "scripts", "memory.py"), "demo"]
    return subprocess.run(command, capture_output=True, check=True, encoding="utf-8").stdout


def shortened(printed: str) -> str:
    """Return the first line of a transcript, and the prompts for the README."""
    parts = printed.split("\n\n")
    return "\n...\n".join([parts[0], "\n\n".join(parts[number] for number in IN_README)]) + "\n"


def block(printed: str) -> str:
    """Return the fenced block that holds a transcript."""
    return "\n```text\n$ python3 scripts/memory.py demo\n%s```\n\n" % printed


def blocks(printed: str) -> dict[str, str]:
    """Return the block of each page that has one."""
    return {"README.md": block(shortened(printed)), os.path.join("docs", "demo.md"): block(printed)}


def on_page(text: str) -> str:
    """Return the block that a page holds now, from one marker to the other."""
    return text.partition(BEGIN)[2].partition(END)[0]


def masked(transcript: str) -> str:
    """Return a transcript without what differs from run to run: how long a prompt took, and the date."""
    return re.sub(r"\d+\.\d ms", "0.0 ms", re.sub(r'updated="[\d-]+"', 'updated=""', transcript))


def with_block(text: str, wanted: str) -> str:
    """Return a page's text with the current transcript."""
    before, _, rest = text.partition(BEGIN)
    return before + BEGIN + wanted + END + rest.partition(END)[2]


def main() -> None:
    """Write the current transcript into both pages."""
    for name, wanted in blocks(demo()).items():
        path = os.path.join(ROOT, name)
        with open(path, encoding="utf-8") as file:
            text = with_block(file.read(), wanted)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        sys.stdout.write("written: %s\n" % name)


if __name__ == "__main__":
    main()
