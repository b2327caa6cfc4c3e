"""The transcript at the top of the README, which is what `memory demo` prints. Run as a script, it updates it."""

from __future__ import annotations

import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
README = os.path.join(ROOT, "README.md")
BEGIN, END = "<!-- transcript -->\n", "<!-- end of transcript -->\n"


def demo() -> str:
    """Return what `memory demo` prints now."""
    command = [sys.executable, os.path.join(ROOT, "scripts", "memory.py"), "demo"]
    return subprocess.run(command, capture_output=True, check=True, encoding="utf-8").stdout


def block(printed: str) -> str:
    """Return the fenced block that holds a transcript."""
    return "\n```text\n$ python3 scripts/memory.py demo\n%s```\n\n" % printed


def in_readme(text: str) -> str:
    """Return the block that the README holds now, from one marker to the other."""
    return text.partition(BEGIN)[2].partition(END)[0]


def masked(transcript: str) -> str:
    """Return a transcript without what differs from run to run: how long a prompt took, and the date."""
    return re.sub(r"\d+\.\d ms", "0.0 ms", re.sub(r'updated="[\d-]+"', 'updated=""', transcript))


def with_transcript(text: str) -> str:
    """Return the README's text with the current transcript."""
    before, _, rest = text.partition(BEGIN)
    return before + BEGIN + block(demo()) + END + rest.partition(END)[2]


if __name__ == "__main__":
    with open(README, encoding="utf-8") as file:
        text = with_transcript(file.read())
    with open(README, "w", encoding="utf-8") as file:
        file.write(text)
    sys.stdout.write("written: README.md\n")
