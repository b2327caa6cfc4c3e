"""Measure `memory interview answer` as a cold process with graphs of several sizes, as a multiple of an empty `python3 -S`.

python3 benchmarks/interview_cold.py --sizes 200,5000
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "scripts"))

from memory_plugin.interview.inputs import new_setup, read_pack  # noqa: E402
from memory_plugin.interview.interview_store import Interview, InterviewStore  # noqa: E402
from memory_plugin.interview.pipeline import start  # noqa: E402
from memory_plugin.kernel.paths import Paths  # noqa: E402

SCRIPT = os.path.join(ROOT, "scripts", "memory.py")


def grown(store: InterviewStore, nodes: int) -> Interview:
    """Return an open interview whose graph has that many nodes."""
    setup = new_setup("a large system", read_pack("requirements"), 200, {})
    interview, decision = start(store, setup, {})
    ladder = setup["pack"]["ladder"]
    for at in range(nodes):
        interview.state["nodes"].append(
            {
                "id": "n%d" % (at + 1),
                "label": "concept number %d of part %d" % (at, at // 7),
                "type": ladder[at % 5],
                "stance": (at % 3) - 1,
                "confidence": 0.8,
                "mentions": 1 + at % 2,
                "turns": [1 + at % 9],
                "quotes": [[1, "as it was said"]],
                "superseded_by": "",
                "elements": [setup["elements"][at % 12]["id"]],
            }
        )
        if at % 5:
            interview.state["edges"].append([at - 1, at, "leads_to", 1])
    store.save(interview, ({"kind": "grown"}, decision))
    return interview


class Cost:
    """Return the minimum time and processor time of some runs, in milliseconds; other programs disturb processor time less."""

    def __init__(self) -> None:
        self.time = self.work = float("inf")

    def __str__(self) -> str:
        return "%.1f ms (%.1f ms of work)" % (self.time, self.work)


def best(command: list[str], repeats: int, env: dict[str, str] | None = None) -> Cost:
    """Return the cost of a command; each run gets a different answer."""
    cost = Cost()
    for at in range(repeats):
        concept = {
            "text": "retry the upload of kind%d" % at,
            "type": "behaviour",
            "stance": 1,
            "quote": "we retry",
        }
        said = "When an upload of kind%d fails we retry twice, because users hate to start again." % at
        stdin = json.dumps({"answer": said, "concepts": [concept]}).encode()
        begun, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(command, input=stdin, capture_output=True, check=False, env=env)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        work = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        cost.time = min(cost.time, 1000 * (time.perf_counter() - begun))
        cost.work = min(cost.work, 1000 * work)
        if done.returncode:
            sys.exit(done.stderr.decode() or done.stdout.decode())
    return cost


def main() -> None:
    """Print a line for each size."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", default="200,5000")
    parser.add_argument("--repeats", type=int, default=15)
    arguments = parser.parse_args()
    empty = best([sys.executable, "-S", "-c", "pass"], 2 * arguments.repeats)
    print("python3 -S -c pass: %s" % empty)
    for size in map(int, arguments.sizes.split(",")):
        with tempfile.TemporaryDirectory() as folder:
            os.environ.update(HOME=folder, CLAUDE_CONFIG_DIR=os.path.join(folder, ".claude"))
            project = os.path.join(folder, "project")
            os.makedirs(os.path.join(project, ".git"))
            paths = Paths(project)
            store = InterviewStore(paths.state(), paths.project_key, "")
            interview = grown(store, size)
            store.close()
            command = [
                sys.executable,
                "-I",
                "-S",
                SCRIPT,
                "interview",
                "answer",
                "--session",
                interview.id,
                "--json",
            ]
            took = best([*command, "--root", project], arguments.repeats, dict(os.environ))
            ratios = (took.time / empty.time, took.work / empty.work)
            print(
                "answer, %5d nodes: %s, %.1f times an empty process (%.1f times its work)"
                % (size, took, *ratios)
            )


if __name__ == "__main__":
    main()
