"""Prepare a run of `claude plugin eval`: a git repository with the memories of `store/`, accepted in the run's own config folder.

The script of a case runs it before Claude starts. It accepts through the package, because the command refuses inside the client.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "scripts"))

from memory_plugin.kernel.paths import locate
from memory_plugin.kernel.settings.load import load
from memory_plugin.memories.survey import survey
from memory_plugin.memories.trust import load_trust
from memory_plugin.recall.index_refresh import refresh_index


def main() -> None:
    """Fill the current folder, the project of a run. Its config folder is next to its home."""
    os.environ["CLAUDE_CONFIG_DIR"] = os.path.join(os.path.dirname(os.environ["HOME"]), "config")
    project = os.getcwd()
    subprocess.run(["git", "init", "-q", project], check=True)
    shutil.copytree(os.path.join(HERE, "store"), project, dirs_exist_ok=True)
    os.rename(os.path.join(project, "memory"), os.path.join(project, ".claude", "memory"))
    paths = locate(project)
    load_trust(paths).accept([item.stored for item in survey(paths).items], "accepted")
    refresh_index(paths, load(paths.config_dir, project))


if __name__ == "__main__":
    main()
