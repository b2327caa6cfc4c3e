"""Measure the tokens that a memory costs, injected or pointed to: `python3 benchmarks/recall_tokens.py PROJECT...`.

Reads the stores of some projects and prints the median and the 90th percentile over their memories. Tokens are estimated as recall does.
"""

from __future__ import annotations

import os
import sys
from statistics import median, quantiles
from typing import TYPE_CHECKING

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "scripts"))

from memory_plugin.kernel.paths import Paths
from memory_plugin.memories.survey import survey
from memory_plugin.recall.decision import estimated_tokens, pointer_line, render
from memory_plugin.recall.documents import memory_document
from memory_plugin.recall.ranking import Hit

if TYPE_CHECKING:
    from memory_plugin.recall.documents import Document

__all__ = ["costs"]


def costs(documents: list[Document]) -> dict[str, list[int]]:
    """Return the tokens of every memory for each form of output."""
    hits = [_hit(document) for document in documents]
    return {
        "first full text of a session, with the header": [
            estimated_tokens(render([hit], [], with_header=True)) for hit in hits
        ],
        "a later full text": [estimated_tokens(render([hit], [], with_header=False)) for hit in hits],
        "a pointer alone on a prompt": [
            estimated_tokens(render([], [pointer_line(hit)[0]], with_header=False)) for hit in hits
        ],
        "one more pointer": [estimated_tokens(pointer_line(hit)[0]) for hit in hits],
    }


def _hit(document: Document) -> Hit:
    row = (document.key, document.id, document.scope, document.category, document.title, "[]")
    return Hit((*row, document.path, document.digest, document.trust, "", document.inject))


def main(roots: list[str]) -> int:
    """Print the table."""
    items = [item for root in roots for item in survey(Paths(root)).items]
    documents = [memory_document(item.stored, "trusted") for item in items]
    if len(documents) < 2:
        sys.stderr.write("expected projects with two memories or more\n")
        return 1
    sys.stdout.write("%d memories of %d projects\n" % (len(documents), len(roots)))
    for name, tokens in costs(documents).items():
        sys.stdout.write("%-48s %4d %4d\n" % (name, median(tokens), quantiles(tokens, n=10)[-1]))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
