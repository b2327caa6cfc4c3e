"""Measure each gate on texts of 200 kB in CPU seconds: plain and repeated texts, and texts made of the words that its rules look for.

    python3 benchmarks/gate_size.py [--size 200000] [--pack NAME] [--text FILE]

`--text` adds your own text, such as a transcript. Nothing is written.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "scripts"))

from memory_plugin.evaluation import shipped_names
from memory_plugin.evaluation.conversations import Conversation, ConversationTurn
from memory_plugin.evaluation.evaluation_gates import run_gates
from memory_plugin.evaluation.packs import load_pack
from memory_plugin.evaluation.rule_matching import RulePack

PLAIN = "The proxy sends health checks every ten seconds and drops a host after three failures, see `config/proxy.toml`. "


def filled(pieces: list[str], size: int, seed: int) -> str:
    """Return a text of `size` characters made of the pieces in random order, with a number here and there so that few repeat."""
    chosen = random.Random(seed)
    text: list[str] = []
    length = 0
    while length < size:
        piece = chosen.choice(pieces)
        if not chosen.randrange(3):
            piece += " %d" % chosen.randrange(100_000)
        text.append(piece)
        length += len(piece) + 1
    return " ".join(text)[:size]


def lexicon_words(pack: RulePack) -> list[str]:
    """Return the words and phrases of a pack's lexicon."""
    return [" ".join(phrase) for phrase in pack.lexicon.phrases] or ["word"]


def texts(pack: RulePack, size: int) -> dict[str, str]:
    """Return the texts of one pack by name."""
    examples = [example for rule in pack.rules for example in (*rule.hit, *rule.miss)] or [PLAIN]
    words = lexicon_words(pack)
    return {
        "plain": (PLAIN * (size // len(PLAIN) + 1))[:size],
        "repeated": ("i want to " * (size // 10 + 1))[:size],
        "examples": filled(examples, size, 1),
        "words": filled(words, size, 2),
        "sentences": filled([word + "." for word in words] + ["I want to", "You should"], size, 3),
        "one word": "a" * size,
        "marks": filled(["'\"", "`", "> ", "```\n", "i'm", "- ", "..."], size, 4),
    }


def slowest(pack: RulePack, content: str) -> dict[str, tuple[float, str]]:
    """Return the CPU seconds and the status of each gate, the slower of the user's side and the assistant's."""
    found: dict[str, tuple[float, str]] = {}
    for role in ("user", "assistant"):
        conversation = Conversation("", (ConversationTurn(1, role, content),))
        for gate in pack.gates:
            started = time.process_time()
            (result,) = run_gates([pack._replace(gates={gate: pack.gates[gate]})], conversation)
            took = time.process_time() - started
            found[gate] = max(found.get(gate, (0.0, "")), (took, result.error or result.status))
    return found


def main() -> None:
    """Print the seconds of each gate and text, and the worst."""
    options = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    options.add_argument("--size", type=int, default=200_000)
    options.add_argument("--pack", action="append", choices=shipped_names("packs"))
    options.add_argument("--text", action="append", default=[])
    options.add_argument("--json", action="store_true")
    asked = options.parse_args()
    rows: list[tuple[str, str, str, float, str]] = []
    for pack in map(load_pack, asked.pack or shipped_names("packs")):
        given = texts(pack, asked.size)
        for path in asked.text:
            with open(path, encoding="utf-8", errors="replace") as file:
                given[os.path.basename(path)] = file.read(asked.size)
        for name, content in given.items():
            rows += [(pack.id, gate, name, *row) for gate, row in slowest(pack, content).items()]
    if asked.json:
        print(json.dumps(rows))
        return
    for pack_id, gate, name, seconds, status in rows:
        print("%-20s %-12s %-12s %7.3f s  %s" % (pack_id, gate, name, seconds, status[:60]))
    print("slowest: %.3f s" % max(row[3] for row in rows))


if __name__ == "__main__":
    main()
