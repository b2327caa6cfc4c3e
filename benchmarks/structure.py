"""The structure in figures: code, settings, commands, documents, and the files that a prompt, a reply and a transcript row go through.

    python3 benchmarks/structure.py [--json]
    python3 benchmarks/structure.py --budget    exit code 1 if a figure exceeds structure_budget.json

Call paths are traced: a hook runs with a profile function that records each of the package's files in which a function is called, in
the order of first calls. `tests/docs/test_ways.py` checks the steps in docs/architecture.md against these.
"""

from __future__ import annotations

import argparse
import ast
import io
import json
import os
import re
import subprocess
import sys
import tempfile
import tokenize

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PACKAGE = os.path.join(ROOT, "scripts", "memory_plugin")
BUDGET = os.path.join(ROOT, "benchmarks", "structure_budget.json")
PAGES = ("README.md", "CONTRIBUTING.md", os.path.join("config", "README.md"))
sys.path.insert(0, os.path.dirname(PACKAGE))

from memory_plugin.host.commands import COMMANDS, TABLE  # noqa: E402

TITLE = "Use Postgres for the billing database"
BODY = "The billing service stores invoices in Postgres 15."
PROMPT = "Which database do we use for the billing service?"
REPLY = "Postgres 15. The billing service stores its invoices there."
_OF_PYTHON = ("__init__.py",)
_MIN_COMMANDS, _MIN_MODULES = 10, 3  # in one assignment, to count as a table of commands or a list of modules
_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
_NO_CODE = {
    *(tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER)
}

# Runs a hook's handling in this process, noting where functions are called. The script itself ends the process without flushing.
_TRACER = """
import os, sys
package, event, report, rows = sys.argv[1:]
sys.path.insert(0, os.path.dirname(package))
seen = []
def note(frame, what, argument):
    path = frame.f_code.co_filename
    is_function = frame.f_code.co_flags & 1  # CO_OPTIMIZED; the bodies of modules and classes run at import
    if what == "call" and is_function and path.startswith(package) and path not in seen:
        seen.append(path)
if rows:
    from memory_plugin.kernel.transcript.reader import turns_since_prompt
    sys.setprofile(note)
    turns_since_prompt(rows)
elif event == "background":
    from memory_plugin.cli.command_line import main
    sys.setprofile(note)
    main([event])
else:
    from memory_plugin.hooks.entry import run
    sys.setprofile(note)
    run(event)
sys.setprofile(None)
with open(report, "w") as file:
    file.write("\\n".join(os.path.relpath(path, package) for path in seen))
"""


class TracedProject:
    """A home and a project with one accepted memory and a transcript of one turn, in a folder of their own."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.root = os.path.join(folder, "project")
        config = os.path.join(folder, "home", ".claude")
        os.makedirs(config)
        os.makedirs(os.path.join(self.root, ".git"))
        store = os.path.join(self.root, ".claude", "memory", "decisions")
        os.makedirs(store)
        stamp = "2026-01-01T00:00:00Z"
        memory = {
            "schema_version": "1.0", "category": "decision", "id": "billing", "title": TITLE, "tags": [], "created_at": stamp,
            "updated_at": stamp, "record_status": "active", "content": {"decision": BODY},
        }  # fmt: skip
        _write(os.path.join(store, "billing.json"), json.dumps(memory))
        self.transcript = os.path.join(folder, "transcript.jsonl")
        user = {"type": "user", "message": {"role": "user", "content": PROMPT}}
        reply = {
            "type": "assistant",
            "message": {"role": "assistant", "content": [{"type": "text", "text": REPLY}]},
        }
        _write(self.transcript, "".join(json.dumps(row) + "\n" for row in (user, reply)))
        self.environment = {
            "HOME": os.path.dirname(config),
            "CLAUDE_CONFIG_DIR": config,
            "CLAUDE_PROJECT_DIR": self.root,
            "PATH": os.environ["PATH"],
        }
        command = [
            sys.executable,
            os.path.join(ROOT, "scripts", "memory.py"),
            "accept",
            "--all",
            "--root",
            self.root,
        ]
        subprocess.run(command, env=self.environment, check=True, stdout=subprocess.DEVNULL)
        self.trace("UserPromptSubmit", {"prompt": PROMPT, "session_id": "first"})

    def trace(self, event: str, fields: dict[str, str], rows: str = "") -> list[str]:
        """Return the files of ours in which something is called while an event is handled, or the transcript `rows` read."""
        report = os.path.join(self.folder, "report")
        command = [sys.executable, "-I", "-S", "-c", _TRACER, PACKAGE, event, report, rows]
        data = json.dumps({"transcript": self.transcript, "transcript_path": self.transcript, **fields})
        subprocess.run(
            command, env=self.environment, input=data.encode(), check=True, stdout=subprocess.DEVNULL
        )
        with open(report, encoding="utf-8") as file:
            found = file.read().split("\n")
        return [path.replace(os.sep, "/") for path in found if os.path.basename(path) not in _OF_PYTHON]


def _write(path: str, text: str) -> None:
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def call_paths(project: TracedProject) -> dict[str, list[str]]:
    """Return the files on the path of a recalled prompt, a scored reply and a transcript row, in the order of the first call."""
    hook = project.trace("Stop", {"last_assistant_message": REPLY, "session_id": "s"})
    steps = project.trace("background", {"event": "Stop", "text": REPLY, "session": "s"})
    return {
        "prompt": project.trace("UserPromptSubmit", {"prompt": PROMPT, "session_id": "s", "prompt_id": "p"}),
        "reply": list(dict.fromkeys(hook + steps)),
        "transcript row": project.trace("", {}, project.transcript),
    }


def figures() -> dict[str, int]:
    """Return the size of the package, of what users choose from, and of what they read."""
    sources = {os.path.relpath(path, PACKAGE): _read(path) for path in _files(PACKAGE, ".py")}
    pages = [*_files(os.path.join(ROOT, "docs"), ".md"), *(os.path.join(ROOT, name) for name in PAGES)]
    return {
        "code lines": sum(map(code_lines, sources.values())),
        "code lines of the command line": sum(
            code_lines(source) for path, source in sources.items() if path.startswith("cli" + os.sep)
        ),
        "modules": len(sources),
        "modules below 80 lines": sum(source.count("\n") < 80 for source in sources.values()),
        "circles of imports": len(circles(sources)),
        "files that import types for the checker alone": sum(
            "TYPE_CHECKING" in source for source in sources.values()
        ),
        "lines with `dict[str, Any]`": sum(
            "dict[str, Any]" in line for text in sources.values() for line in text.split("\n")
        ),
        "tables that name commands": sum(
            len(tables_of(source, set(COMMANDS), _MIN_COMMANDS)) for source in sources.values()
        ),
        "lists of hot modules": hot_lists(sources),
        "settings": len(json.loads(_read(os.path.join(ROOT, "config", "defaults.json")))),
        "commands in the help": sum(bool(row.group) for row in TABLE),
        "words of documents": sum(len(_read(page).split()) for page in pages),
    }


def code_lines(source: str) -> int:
    """Return the number of lines without docstrings, comments and blank lines."""
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in _NO_CODE:
            lines.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, _DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
            lines.difference_update(range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1))
    return len(lines)


def tables_of(source: str, words: set[str], least: int) -> list[int]:
    """Return the lines of the assignments at the top of a module that hold at least `least` of the words as whole texts."""
    found = []
    for node in ast.parse(source).body:
        texts = {
            part.value
            for part in ast.walk(node)
            if isinstance(part, ast.Constant) and isinstance(part.value, str)
        }
        if isinstance(node, (ast.Assign, ast.AnnAssign)) and len(words & texts) >= least:
            found.append(node.lineno)
    return found


def hot_lists(sources: dict[str, str]) -> int:
    """Return how many lists name modules of ours: assignments of texts in the package, and the rules of pyproject.toml."""
    names = {path[:-3].replace(os.sep, ".") for path in sources}
    count = sum(len(_lists_of_modules(source, names)) for source in sources.values())
    for line in _read(os.path.join(ROOT, "pyproject.toml")).split("\n"):
        files = re.findall(r"[\w/]+", line.partition("=")[0].replace("scripts/memory_plugin/", ""))
        count += sum(file.replace("/", ".") in names for file in files) >= _MIN_MODULES
    return count


def _lists_of_modules(source: str, names: set[str]) -> list[int]:
    """Return the lines of the assignments whose texts name several modules, separated by spaces or one by one."""
    found = []
    for node in ast.parse(source).body:
        words = [
            word
            for part in ast.walk(node)
            if isinstance(part, ast.Constant) and isinstance(part.value, str)
            for word in part.value.split()
        ]
        if (
            isinstance(node, (ast.Assign, ast.AnnAssign))
            and sum(word in names for word in words) >= _MIN_MODULES
        ):
            found.append(node.lineno)
    return found


def circles(sources: dict[str, str]) -> list[set[str]]:
    """Return the groups of modules that import each other, in any function and for types too."""
    modules = {path[:-3].replace(os.sep, ".").replace(".__init__", ""): path for path in sources}
    imports = {name: _imports(name, sources[path], set(modules)) for name, path in modules.items()}
    reached = {name: _reached(name, imports) for name in imports}
    groups = {frozenset(other for other in reached[name] if name in reached[other]) for name in imports}
    return [set(group) for group in groups if len(group) > 1]


def _imports(name: str, source: str, modules: set[str]) -> set[str]:
    """Return the modules of ours that a module imports by relative imports, as all do."""
    found = set()
    is_package = any(other.startswith(name + ".") for other in modules)
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and node.level:
            parts = name.split(".")
            parts = parts[: len(parts) - node.level + is_package] + (node.module or "").split(".")
            base = ".".join(filter(None, parts))
            names = {base + "." + alias.name if base else alias.name for alias in node.names}
            found |= names & modules or {base} & modules
    return found - {name}


def _reached(name: str, imports: dict[str, set[str]]) -> set[str]:
    seen: set[str] = set()
    open_ends = [name]
    while open_ends:
        new = imports[open_ends.pop()] - seen
        seen |= new
        open_ends += new
    return seen


def _files(folder: str, ending: str) -> list[str]:
    return [
        os.path.join(at, name) for at, _, names in os.walk(folder) for name in names if name.endswith(ending)
    ]


def _read(path: str) -> str:
    with open(path, encoding="utf-8") as file:
        return file.read()


def exceeded(found: dict[str, int]) -> list[str]:
    """Return the figures that exceed those in structure_budget.json, or are not named there, as sentences."""
    budget = json.loads(_read(BUDGET))
    if list(budget) != list(found):
        return ["%s must have these figures: %s" % (BUDGET, ", ".join(found))]
    return [
        "%s: %d, and the budget is %d" % (name, found[name], number)
        for name, number in budget.items()
        if found[name] > number
    ]


def main() -> int:
    """Count and print; without --budget also trace the call paths."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--budget", action="store_true", help="exit with 1 if a figure exceeds the budget")
    arguments = parser.parse_args()
    found = figures()
    if arguments.budget:
        problems = exceeded(found)
        print("\n".join(problems) or "within the budget")
        return int(bool(problems))
    with tempfile.TemporaryDirectory(prefix="memory-structure-") as folder:
        paths = call_paths(TracedProject(folder))
    if arguments.json:
        print(json.dumps({"figures": found, "call_paths": paths}, indent=2))
        return 0
    for name, number in found.items():
        print("%-24s %7d" % (name, number))
    for name, files in paths.items():
        print("\npath of a %s: %d files" % (name, len(files)))
        for path in files:
            print("  " + path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
