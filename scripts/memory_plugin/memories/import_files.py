"""Choose the files of a folder that an import reads: notes, rules and records, and neither indexes, templates nor the text of others."""

from __future__ import annotations

import os
import re

from .record import categories
from .writing import is_own_index

STORE = os.path.join(".claude", "memory")
_NAMES = (
    ".cursorrules",
    ".windsurfrules",
    ".clinerules",
    ".goosehints",
    ".rules",
)  # Markdown without an ending
_OF_FOLDERS = ("CLAUDE.md", "CLAUDE.local.md", "AGENTS.md", "GEMINI.md")
# Folders with a dot in which agents keep rules; of `.github`, only what is for them.
_RULE_FOLDERS = frozenset(
    [
        *(
            ".agent",
            ".agents",
            ".aiassistant",
            ".amazonq",
            ".augment",
            ".claude",
            ".clinerules",
            ".codex",
            ".continue",
            ".cursor",
        ),
        *(".gemini", ".github", ".junie", ".kiro", ".roo", ".trae", ".windsurf"),
    ]
)
_OF_GITHUB = re.compile(r"copilot-instructions\.md|.*\.(?:instructions|chatmode|prompt)\.md|AGENTS\.md")
_OTHERS = frozenset(["node_modules", "site-packages", "third_party", "vendor", "venv"])
_PAST = frozenset(["archive", "archived", "deprecated", "obsolete"])
ABOUT_NOTES = ("index", "moc", "schema", "template", "toc")  # types of notes that hold no memory
_INDEX = re.compile(
    r"(?:readme|(?:.*[-_ ])?index|toc|table[-_ ]of[-_ ]contents|summary"
    r"|change-?log|changes|history|news|release[-_ ]?notes?|releases|licen[sc]e"
    r"|copying|notice|authors|contributors|code[-_]of[-_]conduct|security|requirements.*|robots|cmakelists)\.\w+",
    re.IGNORECASE,
)
# A form to fill in, but not a record about templates, which has a number.
_TEMPLATE = re.compile(
    r"(?![a-z]{0,6}[-_ ]?0*[1-9])(?:(?:.*[-_ .])?template|template[-_ .].*)\.\w+", re.IGNORECASE
)
_IGNORED = ("git", "-c", "core.fsmonitor=false", "ls-files", "-oi", "--exclude-standard", "--directory", "-z")
_GIT_SECONDS = 10
INDEX, TEMPLATE = "an index or a history, not a note", "a template"
_OWN_PROJECT, _NOT_OURS = "a project of its own", "ignored by git, or text of others"
_OVER = "kept for history; to import it, name it"


def is_rule_file(path: str) -> bool:
    """Return whether a file without an ending holds rules in Markdown."""
    return os.path.basename(path) in _NAMES


def is_template(path: str) -> bool:
    """Return whether a file is a form to fill in, by its name or its folder."""
    above, name = os.path.split(path)
    return bool(_TEMPLATE.fullmatch(name)) or os.path.basename(above).strip("_").lower() == "templates"


def own_folder(path: str, root: str) -> list[str]:
    """Return the folder to which an instruction file in a subfolder applies; empty for one in the project's root."""
    folder = os.path.relpath(os.path.dirname(path), root) if root else ""
    outside = folder in ("", ".") or folder.startswith(("..", "."))
    return [] if outside or os.path.basename(path) not in _OF_FOLDERS else [folder.replace(os.sep, "/") + "/"]


def store_files(path: str) -> list[tuple[str, str]]:
    """Return the memory files of a store, or of a project with one, each with its category; empty if there are none."""
    store = os.path.join(path, STORE)
    root = store if os.path.isdir(store) else path
    return [
        (os.path.join(root, kind.folder, name), kind.name)
        for kind in categories().values()
        if os.path.isdir(os.path.join(root, kind.folder))
        for name in sorted(os.listdir(os.path.join(root, kind.folder)))
        if name.endswith(".json") and not name.startswith(".")
    ]


def files_below(folder: str, ends: tuple[str, ...], left_out: list[tuple[str, str]]) -> list[str]:
    """Return the files below a folder with one of these endings, in order; what is skipped is added to `left_out` with the reason."""
    found, ignored = list[str](), _ignored(folder)
    for above, folders, names in os.walk(folder):
        reasons = {name: _why_closed(os.path.join(above, name), folder, ignored) for name in sorted(folders)}
        folders[:] = [name for name, reason in reasons.items() if reason is None]
        left_out += [(os.path.join(above, name), reason) for name, reason in reasons.items() if reason]
        of_github = ".github" in os.path.relpath(above, os.path.dirname(folder)).split(os.sep)
        for name in sorted(names):
            is_read = name in _NAMES or (name.lower().endswith(ends) and not name.startswith("."))
            if is_read and _INDEX.fullmatch(name):
                left_out.append((os.path.join(above, name), INDEX))
            elif is_read and (not of_github or _OF_GITHUB.fullmatch(name)):
                found.append(os.path.join(above, name))
    return found


def _why_closed(path: str, top: str, ignored: set[str]) -> str | None:
    """Return why a folder is not read, empty if nobody would expect it; None for one that is."""
    name = os.path.basename(path)
    if path == os.path.join(top, STORE) or (name.startswith(".") and name not in _RULE_FOLDERS):
        return ""
    if os.path.lexists(os.path.join(path, ".git")):
        return _OWN_PROJECT
    if name.lower() in _PAST:
        return _OVER
    return _NOT_OURS if name in _OTHERS or (path in ignored and name not in _RULE_FOLDERS) else None


def notes_in_store(folder: str) -> list[str]:
    """Return the Markdown files next to the memories of a store, or of a project with one."""
    inside = os.path.join(folder, STORE)
    folder = inside if os.path.isdir(inside) else folder
    paths = [os.path.join(folder, name) for name in sorted(os.listdir(folder)) if name.endswith(".md")]
    return [path for path in paths if os.path.basename(path) != "index.md" or not is_own_index(path)]


def _ignored(folder: str) -> set[str]:
    """Return the folders that git ignores; empty without git."""
    from subprocess import DEVNULL, SubprocessError, run

    try:
        output = run(
            _IGNORED, cwd=folder, stdin=DEVNULL, capture_output=True, timeout=_GIT_SECONDS, check=True
        ).stdout
    except (OSError, SubprocessError):
        return set()
    return {os.path.join(folder, os.fsdecode(name).rstrip("/")) for name in output.split(b"\0") if name}
