"""The digest of the hygiene rules in `recall/index_file.py`. Run as a script, this updates the digest.

An index holds texts that the rules have redacted. The digest is part of its version, so a changed rule rebuilds it.
"""

from __future__ import annotations

import glob
import hashlib
import os
import re

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
MODULE = os.path.join(ROOT, "scripts", "memory_plugin", "recall", "index_file.py")
RULES = (
    "config/hygiene/*.json",
    "scripts/memory_plugin/kernel/hygiene/*.py",
    "scripts/memory_plugin/kernel/text/invisible.py",
)
LINE = re.compile(r"^RULES_DIGEST = 0x[0-9A-F]{6}$", re.MULTILINE)
BITS = 23  # the index version is a signed number of 32 bits, 8 of them the schema


def rules_digest() -> int:
    """Return the digest of the present rules and their code."""
    content = hashlib.sha256()
    for pattern in RULES:
        for path in sorted(glob.glob(os.path.join(ROOT, *pattern.split("/")))):
            with open(path, encoding="utf-8") as file:
                content.update(("%s\0%s\0" % (os.path.basename(path), file.read())).encode("utf-8"))
    return int.from_bytes(content.digest()[:4], "big") >> (32 - BITS)


def main() -> None:
    """Write the digest into the module."""
    with open(MODULE, encoding="utf-8") as file:
        text = file.read()
    with open(MODULE, "w", encoding="utf-8", newline="\n") as file:
        file.write(LINE.sub("RULES_DIGEST = 0x%06X" % rules_digest(), text))


if __name__ == "__main__":
    main()
