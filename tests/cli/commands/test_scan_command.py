"""`memory check secrets`: find secrets in stores and folders, and redact them."""

from __future__ import annotations

import os

from tests.project import Project

SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
PLANTED = {"title": "Deploy", "content": {"decision": "with " + SECRET}, "theirs": [1]}


def test_the_stores_are_scanned(project: Project) -> None:
    project.save("Clean", "nothing here")
    assert project.cli("scan").returncode == 0
    path = os.path.realpath(project.write(".claude/memory/decisions/deploy.json", PLANTED))
    run = project.cli("scan")
    assert run.returncode == 1
    place, rule = run.stdout.splitlines()[0].rsplit("  ", 2)[0], run.stdout.splitlines()[0].rsplit("  ", 1)[1]
    assert place == path + ":4"
    assert rule
    assert SECRET not in run.stdout + run.stderr
    found = project.cli("scan", "--json").json
    assert found["findings"] == [{"path": path, "line": 4, "kind": "secret", "rule": rule}]


def test_any_folder_can_be_scanned(project: Project) -> None:
    project.write("docs/a.md", "x\n" + SECRET)
    assert project.cli("scan", "--json").json["findings"] == []
    run = project.cli("scan", os.path.join(project.root, "docs"), "--json")
    assert [(finding["line"], finding["kind"]) for finding in run.json["findings"]] == [(2, "secret")]


def test_fix_redacts_and_keeps_the_rest(project: Project) -> None:
    path = os.path.realpath(project.write(".claude/memory/decisions/deploy.json", PLANTED))
    project.cli("accept", "deploy")
    run = project.cli("scan", "--fix", "--json")
    assert (run.returncode, run.json["fixed"], run.json["findings"]) == (0, [path], [])
    with open(path, encoding="utf-8") as file:
        text = file.read()
    assert SECRET not in text
    assert '"theirs"' in text
    assert project.cli("show", "deploy", "--json").json["trust"] == "trusted"
    assert project.cli("scan", "--fix", "--json").json["fixed"] == []


def test_findings_that_cannot_be_fixed_are_still_reported(project: Project) -> None:
    project.write(".claude/memory/decisions/broken.json", "{ " + SECRET)
    assert project.cli("scan", "--fix").returncode == 1
