"""Compare signals of real transcripts with another program's: `python3 benchmarks/session_signals.py FOLDER EXPECTED.jsonl`.

FOLDER holds transcripts; each line of EXPECTED has a `file` and its `signals`. For each comparable figure, prints in how many transcripts
both agree and where they differ, and whether every file could be read.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "scripts"))

from memory_plugin.sessions.signals import SessionSignals, collect_signals


def ours(found: SessionSignals) -> dict[str, int]:
    """Return our figures under the other program's names."""
    counts = {name: signal.count for name, signal in found.signals.items()}
    totals = found.totals
    failed = ("errors", "denied", "cancelled", "hook_blocks", "not_read_errors")
    return {
        "tool_calls": sum(found.tools.values()),
        "err_flag": sum(counts[name] for name in failed),
        "par_msgs": counts["parallel"],
        "reads_targeted": counts["reads_targeted"],
        "edit_no_read": counts["edits_unread"],
        "todo": found.tools.get("TodoWrite", 0),
        "task": counts["delegations"],
        "interrupts": counts["interrupts"],
        "commit_ok": counts["commits"],
        "compactions": counts["compactions"],
        "out_tok": totals.usage["output_tokens"],
        "tot_tok": sum(totals.usage.values()),
        "ctx_max": totals.context,
        "test_fail": counts["tests_failed"],
        "test_pass": counts["tests_passed"],
        "bash_retry_after_err": counts["retries"],
        "reread_no_edit": counts["rereads"],
        "corr": counts["corrections"],
    }


def main(folder: str, expected: str) -> int:
    """Compare, and return 1 when a file could not be read."""
    with open(expected, encoding="utf-8") as file:
        rows: dict[str, Any] = {row["file"]: row["signals"] for row in map(json.loads, file)}
    differences: dict[str, list[str]] = {}
    unread = compared = 0
    for name in sorted(os.listdir(folder)):
        try:
            found = collect_signals(os.path.join(folder, name))
        except Exception as error:  # noqa: BLE001 (that is what is measured)
            print("cannot read %s: %s" % (name, error))
            unread += 1
            continue
        if name not in rows:
            continue
        compared += 1
        for figure, value in ours(found).items():
            wanted = rows[name].get(figure, 0)
            differences.setdefault(figure, [])
            if value != wanted:
                differences[figure].append("%s %d, not %d" % (name[:24], value, wanted))
    for figure, found_here in differences.items():
        print(
            "%-22s %d of %d  %s" % (figure, compared - len(found_here), compared, "; ".join(found_here[:4]))
        )
    return 1 if unread else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:3]))
