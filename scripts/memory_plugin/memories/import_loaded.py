"""Find files that Claude Code reads in every session: their content needs no memories, unless splitting a file helps."""

from __future__ import annotations

import os
import re

from ..kernel.files import Unreadable, read_regular

LONG = 200  # lines; Claude Code's documentation advises to stay below
_NAMES = ("CLAUDE.md", "CLAUDE.local.md", os.path.join(".claude", "CLAUDE.md"))
_RULES = os.path.join(".claude", "rules")
_MAX_BYTES = 1 << 20
_MAX_DEPTH = 5  # of files that name files, as Claude Code follows them
_MAX_FILES = 200
_CODE = re.compile(r"^(```|~~~).*?^\1|`[^`\n]*`", re.DOTALL | re.MULTILINE)
_NAMED = re.compile(r"(?<![\w@/.])@((?:~/|\.{0,2}/)?[\w.-][\w./-]*)")


def loaded_files(root: str) -> dict[str, str]:
    """Return the real paths that Claude Code reads at the start of a session, with the file that names each ("" for its own)."""
    found: dict[str, str] = {}
    queue = [(os.path.join(root, name), "", 0) for name in _NAMES]
    rules = os.path.join(root, _RULES)
    for above, folders, names in os.walk(rules):
        folders.sort()
        queue += [(os.path.join(above, name), "", 0) for name in sorted(names) if name.endswith(".md")]
    while queue and len(found) < _MAX_FILES:
        path, named_by, depth = queue.pop(0)
        real = os.path.realpath(path)
        text = None if real in found else _text(real)
        if text is None:
            continue
        found[real] = named_by
        if depth < _MAX_DEPTH:
            for name in _NAMED.findall(_CODE.sub("", text)):
                target = os.path.join(os.path.dirname(path), os.path.expanduser(name.rstrip(".")))
                queue.append((target, os.path.basename(path), depth + 1))
    return found


def _text(path: str) -> str | None:
    try:
        return read_regular(path, _MAX_BYTES)[0].decode("utf-8", "replace")
    except (Unreadable, OSError):
        return None


def is_worth_splitting(path: str, has_files: bool) -> str:
    """Return why a statement of a loaded file is offered: the file is long, or it applies only to some files. Empty otherwise."""
    lines = (_text(os.path.realpath(path)) or "").count("\n")
    if lines > LONG:
        return "%d lines" % lines
    return "holds for some files only" if has_files else ""
