"""Measure recall at tool calls: cold processes, as multiples of `python3 -S -c pass`, cases interleaved in one run.

    python3 benchmarks/tool_hook.py [--rounds 31] [--memories 40] [--json]

Cases: a file that no memory names, also in a project whose memories name no files; a file with a memory, for the first time and again; a
failed command without a relevant memory, and one with a runbook. Ratios are medians over the median of the empty process.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from benchmarks.guard_hook import HOOK, Case, argument_parser, medians, print_times, project

FAILURE = os.path.join(os.path.dirname(HOOK), "post_tool_use_failure.py")
TITLE = "P3014 could not create the shadow database means SHADOW_DATABASE_URL is missing"


def cases(folder: str, memories: int) -> list[Case]:
    """Return the cases, the empty interpreter first; `@` in an event stands for the number of the round."""
    others = tuple(("--file", "src/part%d/main.py" % at) for at in range(memories))
    plain, named = project(folder, "plain", ((),)), project(folder, "named", (*others, ("--title", TITLE)))
    root = named["CLAUDE_PROJECT_DIR"]
    file = [sys.executable, "-I", "-S", HOOK]
    failure = [sys.executable, "-I", "-S", FAILURE]

    def read(path: str, session: str, where: str) -> str:
        given = {"file_path": os.path.join(where, path)}
        event = {"session_id": session, "cwd": where, "tool_name": "Read", "tool_input": given}
        return json.dumps({**event, "hook_event_name": "PreToolUse", "tool_use_id": "t"})

    def fail(command: str, error: str) -> str:
        event = {"session_id": "f-@", "cwd": root, "tool_name": "Bash", "tool_input": {"command": command}}
        return json.dumps(
            {**event, "hook_event_name": "PostToolUseFailure", "error": error, "tool_use_id": "t"}
        )

    shadow = "Exit code 1\nError: P3014 could not create the shadow database"
    return [
        Case("empty", [sys.executable, "-S", "-c", "pass"], "", plain),
        Case("no memory names a file", file, read("a.py", "s", plain["CLAUDE_PROJECT_DIR"]), plain),
        Case("memories name other files", file, read("src/a.py", "s", root), named),
        Case("a memory names the file", file, read("src/part1/main.py", "r-@", root), named),
        Case("told before", file, read("src/part1/main.py", "same", root), named),
        Case(
            "a failure like any other",
            failure,
            fail("npm tets", "Exit code 1\nnpm ERR! Missing script"),
            named,
        ),
        Case("a failure with its runbook", failure, fail("npx prisma migrate dev", shadow), named),
    ]


def main() -> int:
    """Measure and print."""
    parser = argument_parser(__doc__)
    parser.add_argument("--memories", type=int, default=40)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = cases(os.path.realpath(folder), arguments.memories)
        print_times(medians(found, arguments.rounds), arguments.json)
    return 0


if __name__ == "__main__":
    sys.exit(main())
