"""Print the precision and recall of the hygiene rules on their own examples, by kind.

    python3 benchmarks/hygiene_accuracy.py

The rules were written for these examples; `hygiene_kit.py` has independent figures.
"""

from __future__ import annotations

import os
import sys
from collections import defaultdict

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "scripts"))

from memory_plugin.kernel.hygiene import choose, findings
from memory_plugin.kernel.hygiene.rules import PACKS, files
from memory_plugin.kernel.paths import load_data
from memory_plugin.kernel.stats import share


def alarms() -> dict[str, dict[str, list[bool]]]:
    """Return for each kind, and for `hit` and `miss`, whether each example contains a finding of that kind."""
    choose((), PACKS)
    found: dict[str, dict[str, list[bool]]] = defaultdict(lambda: {"hit": [], "miss": []})
    for name in files():
        for entry in load_data("hygiene", name)["rules"]:
            kind = entry.get("kind", "secret")
            for field in ("hit", "miss"):
                texts = ("".join(example) for example in entry[field])
                found[kind][field] += [bool(findings(text, [kind])) for text in texts]
    return found


def main() -> int:
    """Measure and print."""
    for kind, rows in alarms().items():
        right, wrong = sum(rows["hit"]), sum(rows["miss"])
        print(
            "%-16s precision %-28s recall %s"
            % (kind, share(right, right + wrong), share(right, len(rows["hit"])))
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
