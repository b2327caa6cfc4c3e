"""A part of the output of `memory demo` in the README. Run as a script, this updates it."""

from __future__ import annotations

import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BEGIN, END = "<!-- transcript -->\n", "<!-- end of transcript -->\n"
IN_README = (3, 4)  # a prompt that recalls and one that does not


def demo() -> str:
    """Return the present output of `memory demo`."""
    command = [sys.executable, os.path.join(ROOT, "scripts", "memory.py"), "demo"]
    return subprocess.run(command, capture_output=True, check=True, encoding="utf-8").stdout


def shortened(transcript: str) -> str:
    """Return the first part of a transcript, and the prompts for the README."""
    parts = transcript.split("\n\n")
    return "\n...\n".join([parts[0], "\n\n".join(parts[number] for number in IN_README)]) + "\n"


def block(transcript: str) -> str:
    """Return the fenced block with the README's part of a transcript."""
    return "\n```text\n$ python3 scripts/memory.py demo\n%s```\n\n" % shortened(transcript)


def on_page(text: str) -> str:
    """Return the present block of a page, between the markers."""
    return text.partition(BEGIN)[2].partition(END)[0]


def masked(transcript: str) -> str:
    """Return a transcript with fixed times and dates, which differ between runs."""
    return re.sub(r"\d+\.\d ms", "0.0 ms", re.sub(r'updated="[\d-]+"', 'updated=""', transcript))


def with_block(text: str, new_block: str) -> str:
    """Return a page's text with the current transcript."""
    before, _, rest = text.partition(BEGIN)
    return before + BEGIN + new_block + END + rest.partition(END)[2]


def main() -> None:
    """Write the current transcript into the README."""
    path = os.path.join(ROOT, "README.md")
    with open(path, encoding="utf-8") as file:
        text = with_block(file.read(), block(demo()))
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    sys.stdout.write("written: README.md\n")


if __name__ == "__main__":
    main()
