"""Measure how long a tool call waits for the hook: cold processes, as multiples of `python3 -S -c pass`, cases interleaved in one run.

    python3 benchmarks/guard_hook.py [--rounds 31] [--json]

Cases: no guards in the project; guards for other commands and files; a guard for the same program; a covered call that goes through because
Claude was reminded before; and a covered call about which the client asks. Ratios are medians over the median of the empty process.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from typing import NamedTuple

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
HOOK = os.path.join(ROOT, "hooks", "pre_tool_use.py")
COMMAND = os.path.join(ROOT, "scripts", "memory.py")
REMINDED = ("--guard-command", "git push --force", "--guard-file", "db/migrations/*.sql")
ASKED = ("--guard-command", "terraform apply", "--guard-action", "ask")


class Case(NamedTuple):
    """A command to time, with its standard input and environment."""

    name: str
    command: list[str]
    event: str
    environment: dict[str, str]


def project(folder: str, name: str, guards: tuple[tuple[str, ...], ...]) -> dict[str, str]:
    """Make a project with these guards and return the environment of its hooks. Raises CalledProcessError."""
    root, config = os.path.join(folder, name), os.path.join(folder, "home", ".claude")
    os.makedirs(os.path.join(root, ".git"))
    os.makedirs(config, exist_ok=True)
    environment = {
        "HOME": os.path.dirname(config),
        "CLAUDE_CONFIG_DIR": config,
        "CLAUDE_PROJECT_DIR": root,
        "PATH": os.environ["PATH"],
    }
    for number, options in enumerate(guards):
        words = ["--category", "constraint", "--title", "Rule %d" % number, "--body", "It holds.", *options]
        command = [sys.executable, COMMAND, "save", *words, "--root", root]
        subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)
    return environment


def cases(folder: str) -> list[Case]:
    """Return the cases, the empty interpreter first."""
    without, guarded = project(folder, "plain", ()), project(folder, "guarded", (REMINDED, ASKED))
    command = [sys.executable, "-I", "-S", HOOK]
    found = [Case("empty", [sys.executable, "-S", "-c", "pass"], "", without)]
    file = os.path.join(guarded["CLAUDE_PROJECT_DIR"], "src", "a.py")
    calls = (
        ("no guards", without, {"command": "npm test && ls -la"}),
        ("guards for other commands", guarded, {"command": "npm test && ls -la"}),
        ("guards for other files", guarded, {"file_path": file}),
        ("a guard for the same program", guarded, {"command": "git status && git push origin HEAD"}),
        ("a mention of the command", guarded, {"command": "echo 'git push --force'"}),
        ("covered, reminded before", guarded, {"command": "git push --force"}),
        ("covered, asked", guarded, {"command": "terraform apply"}),
    )
    for name, environment, given in calls:
        event = {"session_id": "s", "cwd": environment["CLAUDE_PROJECT_DIR"], "hook_event_name": "PreToolUse"}
        event.update(tool_name="Bash" if "command" in given else "Edit", tool_input=given, tool_use_id="t")  # type: ignore[call-overload]
        found.append(Case(name, command, json.dumps(event), environment))
    return found


def timed(case: Case) -> float:
    """Return the milliseconds of one cold process. Raises CalledProcessError if it fails."""
    start = time.perf_counter()
    subprocess.run(
        case.command, env=case.environment, input=case.event.encode(), stdout=subprocess.DEVNULL, check=True
    )
    return (time.perf_counter() - start) * 1000


def medians(found: list[Case], rounds: int) -> dict[str, float]:
    """Return the median milliseconds of each case; `@` in an event is replaced by the number of the round."""
    times: dict[str, list[float]] = {case.name: [] for case in found}
    for number in range(rounds + 1):
        for case in found:
            taken = timed(case._replace(event=case.event.replace("@", str(number))))
            if number:  # the first round compiles the modules and reminds of the guard
                times[case.name].append(taken)
    return {name: statistics.median(taken) for name, taken in times.items()}


def argument_parser(description: str | None) -> argparse.ArgumentParser:
    """Return a parser with the options of both hook benchmarks."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=31)
    parser.add_argument("--json", action="store_true")
    return parser


def print_times(found: dict[str, float], as_json: bool) -> None:
    """Print the milliseconds of each case, and their ratio to the empty process."""
    if as_json:
        print(json.dumps({name: {"ms": ms, "ratio": ms / found["empty"]} for name, ms in found.items()}))
        return
    for name, ms in found.items():
        print("%-30s %6.1f ms  %5.2f" % (name, ms, ms / found["empty"]))


def main() -> int:
    """Measure and print."""
    arguments = argument_parser(__doc__).parse_args()
    with tempfile.TemporaryDirectory() as folder:
        print_times(medians(cases(os.path.realpath(folder)), arguments.rounds), arguments.json)
    return 0


if __name__ == "__main__":
    sys.exit(main())
