"""State that is no longer needed is deleted; everything else is kept."""

from __future__ import annotations

import os
import time

from memory_plugin.work.refresh import prune_state
from tests.project import Project
from tests.recall.store_files import at_home


def test_session_state_untouched_for_a_month_is_deleted(project: Project) -> None:
    old = time.time() - 31 * 86400
    for folder in ("sessions", "grants", "trust", "index"):
        os.makedirs(os.path.join(project.state, folder))
        for name, moment in (("old.json", old), ("new.json", time.time())):
            path = os.path.join(project.state, folder, name)
            with open(path, "w", encoding="utf-8") as file:
                file.write("{}")
            os.utime(path, (moment, moment))
    os.mkdir(os.path.join(project.state, "sessions", "folder"))
    os.symlink(
        os.path.join(project.state, "trust", "old.json"), os.path.join(project.state, "sessions", "link")
    )
    with at_home(project) as paths:
        assert prune_state(paths) == 2
    left = {(os.path.basename(at), name) for at, _, names in os.walk(project.state) for name in names}
    assert {("sessions", "old.json"), ("grants", "old.json")}.isdisjoint(left)
    assert {
        ("trust", "old.json"),
        ("index", "old.json"),
        ("sessions", "new.json"),
        ("grants", "new.json"),
    } <= left


def test_without_state_there_is_nothing_to_prune(project: Project) -> None:
    with at_home(project) as paths:
        assert prune_state(paths) == 0
