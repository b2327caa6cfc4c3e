"""Prepare a run of `claude plugin eval`: a git repository with the memories of `store/`, accepted in the run's config, and a past session.

The script of a case runs it before Claude starts. It accepts through the package, because the command refuses inside the client.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "scripts"))

from memory_plugin.kernel.paths import Paths
from memory_plugin.kernel.settings.load import load
from memory_plugin.memories.survey import survey
from memory_plugin.memories.trust import Trust
from memory_plugin.recall.index_file import index_version
from memory_plugin.recall.index_refresh import refresh_index
from memory_plugin.sessions.past_index import refresh as refresh_sessions

PAST = (
    ("user", "the label printer skips every third label"),
    (
        "assistant",
        "The gap sensor was calibrated for the old rolls. printer/setup.py calibrates it again at each start.",
    ),
)


def main() -> None:
    """Fill the current folder, the project of a run. Its config folder is next to its home."""
    os.environ["CLAUDE_CONFIG_DIR"] = os.path.join(os.path.dirname(os.environ["HOME"]), "config")
    project = os.getcwd()
    subprocess.run(["git", "init", "-q", project], check=True)
    shutil.copytree(os.path.join(HERE, "store"), project, dirs_exist_ok=True)
    os.rename(os.path.join(project, "memory"), os.path.join(project, ".claude", "memory"))
    paths = Paths(project)
    Trust(paths).accept([item.stored for item in survey(paths).items], "accepted")
    refresh_index(paths, load(paths.config_dir, project))
    write_session(
        os.path.join(os.environ["CLAUDE_CONFIG_DIR"], "projects", re.sub(r"[^A-Za-z0-9]", "-", project)),
        project,
    )
    refresh_sessions(paths, 365, index_version())


def write_session(folder: str, project: str) -> None:
    """Write the transcript of an earlier session."""
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "5e55105e-label.jsonl"), "w", encoding="utf-8") as file:
        for number, (kind, text) in enumerate(PAST):
            message = {
                "id": "m%d" % number,
                "role": kind,
                "model": "claude",
                "content": [{"type": "text", "text": text}],
            }
            row = {
                "type": kind,
                "uuid": "u%d" % number,
                "timestamp": "2026-11-0%dT09:00:00Z" % (number + 1),
                "cwd": project,
                "message": message,
            }
            file.write(json.dumps(row) + "\n")


if __name__ == "__main__":
    main()
