"""Count how many paragraphs of Python's standard library contain each stem, for `config/recall/background.json`.

    recall_background.py            print the most frequent words and the number of words
    recall_background.py --write    also write the file

The paragraphs come from docstrings, comment blocks, and the language reference that `help()` shows. The counts differ slightly between
Python versions; the file names the version it was made with.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import platform
import sys
import sysconfig
from collections import Counter
from collections.abc import Iterator
from importlib import import_module

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "scripts"))

from memory_plugin.kernel.fastjson import loads
from memory_plugin.kernel.paths import data_path
from memory_plugin.kernel.text.words import stem, tokenize

FEWEST = 10
SHORTEST = 20
SKIPPED = ("site-packages", "lib2to3", "pydoc_data", "idlelib")
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
SOURCE = (
    "Paragraphs of docstrings, comment blocks and the language reference (pydoc_data.topics) in the standard library of CPython %s "
    "(PSF licence 2.0): how many hold each stem, for stems that %d or more hold. Counted by benchmarks/recall_background.py."
)


def paragraphs() -> Iterator[str]:
    """Return every paragraph of the standard library that is long enough to count."""
    for text in (*_sources(), *_topics()):
        for part in text.split("\n\n"):
            if len(part) > SHORTEST:
                yield part


def counted(stop: frozenset[str]) -> tuple[int, dict[str, int]]:
    """Return the number of paragraphs, and for each stem the number of those that contain it."""
    total, counts = 0, Counter[str]()
    for part in paragraphs():
        total += 1
        counts.update({stem(word) for word in tokenize(part) if word.isalpha() and word not in stop})
    return total, {word: count for word, count in sorted(counts.items()) if count >= FEWEST and len(word) > 1}


def _topics() -> Iterator[str]:
    topics: dict[str, str] = import_module("pydoc_data.topics").topics
    return iter(topics.values())


def _sources() -> Iterator[str]:
    root = sysconfig.get_path("stdlib")
    for folder, _, names in sorted(os.walk(root)):
        for name in sorted(names):
            path = os.path.join(folder, name)
            if name.endswith(".py") and not any(part in path for part in SKIPPED):
                yield from _texts(path)


def _texts(path: str) -> Iterator[str]:
    try:
        with open(path, encoding="utf-8") as file:
            source = file.read()
        tree = ast.parse(source)
    except (SyntaxError, UnicodeDecodeError):  # the library's own tests hold files that are wrong on purpose
        return
    for node in ast.walk(tree):
        if isinstance(node, DOCUMENTED):
            yield ast.get_docstring(node) or ""
    block: list[str] = []
    for line in [*source.splitlines(), ""]:
        if line.strip().startswith("#"):
            block.append(line.strip()[1:].strip())
        elif block:
            yield " ".join(block)
            block = []


def main() -> int:
    """Run the command line and return the exit status."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    with open(data_path("recall", "stopwords.json"), encoding="utf-8") as file:
        stop = loads(file.read())["entries"]["en"]["value"]  # type: ignore[index]
    total, counts = counted(frozenset(stop.split()))
    print("%d paragraphs, %d stems" % (total, len(counts)))
    print(", ".join("%s %d" % item for item in Counter(counts).most_common(30)))
    if options.write:
        source = SOURCE % (platform.python_version(), FEWEST)
        with open(data_path("recall", "background.json"), "w", encoding="utf-8") as file:
            file.write(json.dumps({"counts": counts, "source": source, "texts": total}, indent=0) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
