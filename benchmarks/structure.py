"""The structure of the package in figures: modules, lines, imports, and the files that a prompt, a reply and a transcript row go through.

    python3 benchmarks/structure.py [--json]

Modules and lines are counted per part of the package. Imports are the modules that a hook's process has loaded at its end, packages
counted apart. Call paths are traced: the same hook runs with a profile function that records each of the package's files in which a
function is called, in the order of first calls. `tests/docs/test_ways.py` compares the call paths in docs/architecture.md with these.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from typing import Any, NamedTuple

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PACKAGE = os.path.join(ROOT, "scripts", "memory_plugin")
TITLE = "Use Postgres for the billing database"
BODY = "The billing service stores invoices in Postgres 15."
PROMPT = "Which database do we use for the billing service?"
REPLY = "Postgres 15. The billing service stores its invoices there."
_OF_PYTHON = ("__init__.py",)

# Runs a hook's handling in this process, noting where functions are called. The script itself ends the process without flushing.
_TRACER = """
import os, sys
package, event, report, rows = sys.argv[1:]
sys.path.insert(0, os.path.dirname(package))
from memory_plugin.kernel.bytecode import import_with_cache_repair
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
else:
    from memory_plugin.hooks.entry import run
    sys.setprofile(note)
    run(event)
sys.setprofile(None)
with open(report, "w") as file:
    file.write("\\n".join(os.path.relpath(path, package) for path in seen))
"""


# As the script of a hook does it, which imports some modules ahead, where `-X importtime` does not see them.
_LOADED = """
import sys
scripts, event, report = sys.argv[1:]
sys.path.insert(0, scripts)
from memory_plugin.kernel.bytecode import import_with_cache_repair
from memory_plugin.hooks.starting import event_handler
event_handler(event)(event)
with open(report, "w") as file:
    file.write(" ".join(name for name in sys.modules if name.split(".")[0] == "memory_plugin"))
"""


class Part(NamedTuple):
    """The figures of one part of the package: its modules without `__init__`, their lines, and the lines of the longest."""

    name: str
    modules: int
    lines: int
    median: float
    longest: int


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
        data = json.dumps({"hook_event_name": event, "transcript_path": self.transcript, **fields})
        subprocess.run(
            command, env=self.environment, input=data.encode(), check=True, stdout=subprocess.DEVNULL
        )
        with open(report, encoding="utf-8") as file:
            found = file.read().split("\n")
        return [path.replace(os.sep, "/") for path in found if os.path.basename(path) not in _OF_PYTHON]

    def imports(self, event: str, fields: dict[str, str]) -> list[str]:
        """Return the modules of ours that a process has loaded after it handled an event, packages included."""
        report = os.path.join(self.folder, "report")
        command = [sys.executable, "-I", "-S", "-c", _LOADED, os.path.dirname(PACKAGE), event, report]
        data = json.dumps({"hook_event_name": event, **fields})
        subprocess.run(
            command, env=self.environment, input=data.encode(), check=True, stdout=subprocess.DEVNULL
        )
        with open(report, encoding="utf-8") as file:
            return file.read().split()


def _write(path: str, text: str) -> None:
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def parts() -> list[Part]:
    """Return the figures of every part of the package, and of all together."""
    lengths: dict[str, list[int]] = {}
    for at, _, names in os.walk(PACKAGE):
        part = os.path.relpath(at, PACKAGE).split(os.sep)[0]
        for name in names:
            if name.endswith(".py") and name != "__init__.py":
                with open(os.path.join(at, name), encoding="utf-8") as file:
                    lengths.setdefault(part, []).append(sum(1 for _ in file))
    lengths["all"] = [length for found in list(lengths.values()) for length in found]
    return [
        Part(name, len(found), sum(found), statistics.median(found), max(found))
        for name, found in sorted(lengths.items())
    ]


def call_paths(project: TracedProject) -> dict[str, list[str]]:
    """Return the files on the path of a recalled prompt, a scored reply and a transcript row, in the order of the first call."""
    return {
        "prompt": project.trace("UserPromptSubmit", {"prompt": PROMPT, "session_id": "s", "prompt_id": "p"}),
        "reply": project.trace("Stop", {"last_assistant_message": REPLY, "session_id": "s"}),
        "transcript row": project.trace("", {}, project.transcript),
    }


def imports(project: TracedProject) -> dict[str, dict[str, int]]:
    """Return how many modules and packages of ours a skipped and a recalled prompt import."""
    found = {}
    for name, prompt in (("skipped prompt", "ok"), ("recalled prompt", PROMPT)):
        names = project.imports("UserPromptSubmit", {"prompt": prompt, "session_id": name})
        packages = [one for one in names if os.path.isdir(os.path.join(PACKAGE, "..", *one.split(".")))]
        found[name] = {"modules": len(names) - len(packages), "packages": len(packages)}
    return found


def main() -> int:
    """Count, trace and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="memory-structure-") as folder:
        project = TracedProject(folder)
        figures: dict[str, Any] = {"imports": imports(project), "call_paths": call_paths(project)}
    figures["parts"] = [part._asdict() for part in parts()]
    if arguments.json:
        print(json.dumps(figures, indent=2))
        return 0
    print("%-12s %8s %8s %8s %8s" % ("part", "modules", "lines", "median", "longest"))
    for part in parts():
        figures_of_part = part.name, part.modules, part.lines, part.median, part.longest
        print("%-12s %8d %8d %8.0f %8d" % figures_of_part)
    for name, counted in figures["imports"].items():
        print("%s: imports %d modules of ours and %d packages" % (name, *counted.values()))
    for name, files in figures["call_paths"].items():
        print("\npath of a %s: %d files" % (name, len(files)))
        for path in files:
            print("  " + path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
