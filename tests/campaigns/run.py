"""Run the fault campaigns: `python3 tests/campaigns/run.py --short|--long [--seed N] [--only NAME] [--seconds N]`.

Each campaign prints one JSON line with its counts. The exit code is 1 if any promise was broken.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [ROOT, os.path.join(ROOT, "scripts")]

from tests.campaigns import concurrency, faults, fuzzing, surroundings, uploads
from tests.campaigns.tally import Tally
from tests.campaigns.world import build

# name -> (campaign, seconds of its short form, seconds of its long form)
CAMPAIGNS: dict[str, tuple[faults.Campaign, float, float]] = {
    "faults": (faults.run_faults, 25, 1800),
    "kills": (faults.run_kills, 12, 900),
    "crowd": (concurrency.run_crowd, 8, 300),
    "rotation": (concurrency.run_rotation, 5, 120),
    "uploads": (uploads.run_uploads, 8, 300),
    "resources": (surroundings.run_resources, 8, 600),
    "year": (surroundings.run_year, 10, 900),
    "hostile": (surroundings.run_hostile, 8, 600),
    "fuzzing": (fuzzing.run_fuzzing, 12, 1800),
}


def main(argv: list[str]) -> int:
    """Run the chosen campaigns and print their counts; return 1 if any promise was broken."""
    parser = argparse.ArgumentParser(
        description="Faults, kills, fuzzing and hostile stores against the whole plugin."
    )
    length = parser.add_mutually_exclusive_group(required=True)
    length.add_argument("--short", action="store_true", help="about two minutes, for CI")
    length.add_argument("--long", action="store_true", help="about two hours")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", choices=list(CAMPAIGNS), action="append")
    parser.add_argument("--seconds", type=float, help="the longest time for each campaign")
    args = parser.parse_args(argv)
    os.environ.pop("CLAUDECODE", None)
    memory_disk = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None  # noqa: S108 (each campaign has its own folder there)
    failed = False
    for name in args.only or CAMPAIGNS:
        campaign, short, long = CAMPAIGNS[name]
        seconds = args.seconds or (long if args.long else short)
        with tempfile.TemporaryDirectory(prefix="memory-campaign-", dir=memory_disk) as folder:
            tally = Tally(name, seconds)
            campaign(build(folder), tally, random.Random(args.seed), thorough=args.long)
        failed |= report(tally)
    return int(failed)


def report(tally: Tally) -> bool:
    """Print the counts of a campaign and examples of what broke; return whether anything did."""
    print(json.dumps(tally.report()), flush=True)
    for promise, examples in tally.examples.items():
        for example in examples:
            print("  %s: %s" % (promise, example), flush=True)
    return bool(tally.broken)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
