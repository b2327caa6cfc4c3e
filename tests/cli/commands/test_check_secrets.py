"""`memory check secrets`: find secrets in stores and folders, and redact them."""

from __future__ import annotations

import os

import pytest

from memory_plugin.work.check import scan_paths
from tests.project import Project

SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
TEXT = "one\ntwo %s\n\nfour %s and %s\n" % (SECRET, SECRET, SECRET)
PLANTED = {"title": "Deploy", "content": {"decision": "with " + SECRET}, "theirs": [1]}


def test_the_stores_are_scanned(project: Project) -> None:
    project.save("Clean", "nothing here")
    assert project.cli("check", "secrets").returncode == 0
    path = os.path.realpath(project.write(".claude/memory/decisions/deploy.json", PLANTED))
    run = project.cli("check", "secrets")
    assert run.returncode == 1
    place, rule = run.stdout.splitlines()[0].rsplit("  ", 2)[0], run.stdout.splitlines()[0].rsplit("  ", 1)[1]
    assert place == path + ":4"
    assert rule
    assert SECRET not in run.stdout + run.stderr
    found = project.cli("check", "secrets", "--json").json
    assert found["findings"] == [{"path": path, "line": 4, "kind": "secret", "rule": rule}]


def test_any_folder_can_be_scanned(project: Project) -> None:
    project.write("docs/a.md", "x\n" + SECRET)
    assert project.cli("check", "secrets", "--json").json["findings"] == []
    run = project.cli("check", "secrets", os.path.join(project.root, "docs"), "--json")
    assert [(finding["line"], finding["kind"]) for finding in run.json["findings"]] == [(2, "secret")]


def test_fix_redacts_and_keeps_the_rest(project: Project) -> None:
    path = os.path.realpath(project.write(".claude/memory/decisions/deploy.json", PLANTED))
    project.cli("accept", "deploy")
    run = project.cli("check", "secrets", "--fix", "--json")
    assert (run.returncode, run.json["fixed"], run.json["findings"]) == (0, [path], [])
    with open(path, encoding="utf-8") as file:
        text = file.read()
    assert SECRET not in text
    assert '"theirs"' in text
    assert project.cli("show", "deploy", "--json").json["trust"] == "trusted"
    assert project.cli("check", "secrets", "--fix", "--json").json["fixed"] == []


def test_findings_that_cannot_be_fixed_are_still_reported(project: Project) -> None:
    project.write(".claude/memory/decisions/broken.json", "{ " + SECRET)
    assert project.cli("check", "secrets", "--fix").returncode == 1


def lines(project: Project, *names: str, personal: bool = False) -> list[tuple[str, int]]:
    scan = scan_paths([os.path.join(project.root, name) for name in names or ["d"]], personal)
    return [(os.path.basename(place.path), place.line) for place in scan.places]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_findings_name_their_line(project: Project, encoding: str) -> None:
    os.makedirs(os.path.join(project.root, "d"))
    with open(os.path.join(project.root, "d", "a.txt"), "w", encoding=encoding) as file:
        file.write(TEXT)
    assert lines(project) == [("a.txt", 2), ("a.txt", 4), ("a.txt", 4)]


def test_no_finding_contains_the_value(project: Project) -> None:
    project.write("d/a.txt", TEXT)
    assert SECRET not in str(scan_paths([os.path.join(project.root, "d")]).places)


def test_binary_large_and_linked_files_and_the_folder_of_git_are_skipped(project: Project) -> None:
    project.write("d/.git/config", TEXT)
    project.write("d/large.txt", TEXT + "x" * 5_000_000)
    project.write("outside.txt", TEXT)
    os.symlink(os.path.join(project.root, "outside.txt"), os.path.join(project.root, "d", "link.txt"))
    os.symlink(project.root, os.path.join(project.root, "d", "loop"))
    os.mkfifo(os.path.join(project.root, "d", "pipe"))
    with open(os.path.join(project.root, "d", "binary"), "wb") as file:
        file.write(b"\0" + TEXT.encode())
    scan = scan_paths([os.path.join(project.root, "d")])
    assert (scan.places, scan.files, scan.skipped, scan.unread) == ([], 0, 2, [])


def test_a_named_file_that_cannot_be_read_is_reported(project: Project) -> None:
    os.mkfifo(os.path.join(project.root, "pipe"))
    scan = scan_paths([os.path.join(project.root, name) for name in ("pipe", "missing")])
    assert len(scan.unread) == 2


def test_personal_data_is_found_on_request(project: Project) -> None:
    project.write("d/a.txt", "write to ada.lovelace@analytical.org\n")
    assert lines(project) == []
    assert lines(project, personal=True) == [("a.txt", 1)]
