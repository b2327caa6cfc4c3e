"""Measure the Stop hook as a cold process, as a multiple of `python3 -S -c pass`, cases interleaved in one run.

    python3 benchmarks/stop_hook.py [--rounds 31] [--json]

Cases: replies of a few words, 4 kB and 100 kB; one of 4 kB at the end of a 100 MB transcript; the same after a prompt with a correction;
and a reply that drifts. The hook only starts a process, which scores the reply; at the end the scores are counted.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from benchmarks.cold_start import Case, measure

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SENTENCES = (
    "The proxy sends health checks every ten seconds and drops a host after three failures. "
    "I moved the timeout into `config/proxy.toml`, since both services read it there. "
    "All 44 tests pass; the slowest takes two seconds because it waits for a lock. "
)
PADDED = (
    "Great question! I'd be happy to help. %s\n\nI hope this helps! Let me know if you need anything else."
)


QUESTION = "Why does the proxy drop hosts?"
CORRECTION = "No, use pnpm here, not npm. And the staging proxy is read only, please look at the other one."


def transcript(folder: str, size: int, prompt: str = QUESTION) -> str:
    """Write a transcript of about `size` bytes that ends with a prompt and a reply, and return its path."""
    path = os.path.join(folder, "transcript-%d-%d.jsonl" % (size, len(prompt)))
    row = (
        json.dumps(
            {
                "type": "user",
                "toolUseResult": {},
                "message": {"content": [{"type": "tool_result", "content": "x" * 4000}]},
            }
        )
        + "\n"
    )
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(row for _ in range(size // len(row)))
        file.write(json.dumps({"type": "user", "uuid": "u", "message": {"content": prompt}}) + "\n")
        reply = {"model": "claude-opus-5-5", "content": [{"type": "text", "text": SENTENCES}]}
        file.write(json.dumps({"type": "assistant", "uuid": "a", "message": reply}) + "\n")
    return path


def cases(folder: str) -> list[Case]:
    """Return all cases, the empty interpreter first."""
    home, project = os.path.join(folder, "home"), os.path.join(folder, "project")
    os.makedirs(os.path.join(home, ".claude"))
    os.makedirs(os.path.join(project, ".git"))
    environment = {"HOME": home, "CLAUDE_PROJECT_DIR": project, "PATH": os.environ.get("PATH", os.defpath)}
    hook = [sys.executable, "-I", "-S", os.path.join(ROOT, "hooks", "stop.py")]
    short, long = transcript(folder, 0), transcript(folder, 100 << 20)
    corrected = transcript(folder, 100 << 20, CORRECTION)
    texts = [
        ("short reply", "Done. All 44 tests pass.", short),
        ("4 kB reply", SENTENCES * 16, short),
        ("4 kB reply, transcript of 100 MB", SENTENCES * 16, long),
        ("the same after a correction", SENTENCES * 16, corrected),
        ("100 kB reply", SENTENCES * 400, short),
        ("reply that drifts", PADDED % SENTENCES, short),
    ]
    found = [Case("python -S -c pass", [sys.executable, "-S", "-c", "pass"], "", dict(os.environ))]
    for name, text, path in texts:
        event = {
            "session_id": "bench-@",
            "prompt_id": "@",
            "transcript_path": path,
            "last_assistant_message": text,
        }
        found.append(Case(name, hook, json.dumps(event), environment))
    return found


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--rounds", type=int, default=31)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="memory-bench-")
    try:
        rows = measure(cases(folder), arguments.rounds)
        state = os.path.join(folder, "home", ".claude", "lcars", "memory")
        time.sleep(2)  # for the last process
        with open(os.path.join(state, "scores.jsonl"), encoding="utf-8") as file:
            scored = sum(1 for _ in file)
    finally:
        shutil.rmtree(folder, ignore_errors=True)  # a process that a hook started may still write there
    if arguments.json:
        print(json.dumps({"python": sys.version.split()[0], "cases": rows, "scored": scored}, indent=2))
        return 0
    print("Python %s, %d rounds, %d replies scored" % (sys.version.split()[0], arguments.rounds, scored))
    for row in rows:
        print("%-34s %8.2f ms  x%-6.2f %6.1f MB" % (row["case"], row["ms"], row["ratio"], row["rss_mb"]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
