"""`memory check secrets`: find secrets in stores, and redact them."""

from __future__ import annotations

import os

from memory_plugin.work.check import secrets_in
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
    assert run.stdout.startswith(".claude/memory/decisions/deploy.json:4: secret: ")
    assert SECRET not in run.stdout + run.stderr
    (found,) = project.cli("check", "secrets", "--json").json["findings"]
    assert (found["path"], found["line"], found["rule"]) == (path, 4, "secret")


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


def test_findings_name_their_line_and_not_the_value(project: Project) -> None:
    project.write("d/a.txt", TEXT)
    found = list(secrets_in([os.path.join(project.root, "d")]))
    assert [(os.path.basename(one.path), one.line) for one in found] == [
        ("a.txt", 2),
        ("a.txt", 4),
        ("a.txt", 4),
    ]
    assert SECRET not in str(found)


def test_links_are_not_followed_and_a_large_file_is_named(project: Project) -> None:
    project.write("d/large.txt", TEXT + "x" * 5_000_000)
    project.write("outside.txt", TEXT)
    os.symlink(os.path.join(project.root, "outside.txt"), os.path.join(project.root, "d", "link.txt"))
    os.symlink(project.root, os.path.join(project.root, "d", "loop"))
    os.mkfifo(os.path.join(project.root, "d", "pipe"))
    found = [(os.path.basename(one.path), one.rule) for one in secrets_in([os.path.join(project.root, "d")])]
    assert found == [("large.txt", "file")]
