"""`memory report`: its figures for ledgers with known content, its page, and damaged ledgers."""

from __future__ import annotations

import json
import os
import stat
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from memory_plugin.cli.report_forms import fill_buckets, safe
from memory_plugin.kernel.fastjson import dumps
from memory_plugin.kernel.stats import quantile
from memory_plugin.work.report import LedgerFigures
from tests.cli.report.month import HOSTILE, write_month
from tests.cli.report.records import HEAD, RECALL, SCORE
from tests.project import Project


def write_ledger(project: Project, name: str, *rows: dict[str, Any]) -> None:
    os.makedirs(project.state, exist_ok=True)
    with open(os.path.join(project.state, name + ".jsonl"), "a", encoding="ascii") as file:
        file.writelines(dumps(row) + "\n" for row in rows)


def report(project: Project, *words: str) -> dict[str, Any]:
    run = project.cli("report", "--json", "--days", "3650", *words)
    assert run.returncode == 0, run.stderr
    figures: dict[str, Any] = run.json
    return figures


@pytest.fixture(scope="module")
def month(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """Return a project with a month of ledgers, which tests only read."""
    project = Project(str(tmp_path_factory.mktemp("box")))
    write_month(project)
    return project


def test_counts_rows_of_all_ledgers(project: Project) -> None:
    silent = {
        **RECALL,
        "outcome": "silent",
        "reason": "below_threshold",
        "injected": [],
        "pointed": [],
        "tokens": 0,
    }
    write_ledger(
        project,
        "recalls",
        RECALL,
        {**RECALL, "session": "s2"},
        silent,
        {**silent, "place": "guard", "outcome": "reminded"},
    )
    write_ledger(
        project, "scores", SCORE, {**SCORE, "id": "r2", "padding_count": 0, "matches": [], "drift": []}
    )
    write_ledger(project, "feedback", {**HEAD, "kind": "used", "memories": ["project:decision/a"]})
    figures = report(project)
    recall = figures["recall"]
    assert [recall[name] for name in ("prompts", "injected", "sessions")] == [3, 2, 2]
    assert recall["days"]["2026-11-20"] == {
        "injected": 2,
        "pointed": 0,
        "silent": 1,
        "skipped": 0,
        "failed": 0,
    }
    assert recall["reasons"] == [{"reason": "below_threshold", "prompts": 1}]
    assert figures["spend"]["memory_tokens"] == 180
    (first, second) = figures["memories"]["helping"]
    assert [first[name] for name in ("id", "project", "told", "used")] == [
        "project:decision/a",
        "shop-1",
        2,
        1,
    ]
    assert (second["id"], second["pointed"]) == ("user:preference/b", 2)
    assert (figures["replies"]["replies"], figures["replies"]["padded"]) == (2, 1)
    assert {row["rule"]: row["matches"] for row in figures["replies"]["patterns"]} == {
        "offer": 1,
        "praise-opening": 1,
    }
    assert figures["missed"]["prompts"] == 1


def test_rules_of_session_starts_are_neither_most_used_nor_unused(project: Project) -> None:
    project.save("Short answers", "One paragraph.", category="preference")
    key = "project:preference/short-answers"
    with open(os.path.join(project.state, "recalls.jsonl"), "w", encoding="utf-8"):
        pass
    project.start()
    memories = report(project)["memories"]
    assert project.ledger("recalls")[-1]["injected"] == [key]
    assert (memories["helping"], memories["unused"]) == ([], [])


def test_only_the_period_and_the_project_count(project: Project) -> None:
    write_ledger(project, "recalls", {**RECALL, "time": "2001-01-01T00:00:00Z"}, RECALL)
    assert report(project)["recall"]["prompts"] == 1
    assert report(project, "--project")["recall"]["prompts"] == 0


def test_older_parts_and_other_folders_are_read(project: Project, tmp_path: Path) -> None:
    for name in ("recalls.jsonl", "recalls.2.jsonl", "recalls.1.jsonl"):
        (tmp_path / name).write_text(dumps(RECALL) + "\n", encoding="ascii")
    assert report(project, "--ledgers", str(tmp_path))["recall"]["prompts"] == 3


def test_a_folder_without_ledgers_is_refused_with_the_reason(project: Project, tmp_path: Path) -> None:
    run = project.cli("report", "--ledgers", str(tmp_path))
    assert run.returncode == 2
    assert "no ledger" in run.stderr
    plain = project.cli("report", "--text")
    assert (plain.returncode, plain.stdout) == (1, "")
    assert plain.stderr.startswith("memory: Nothing is recorded yet. ")


def test_only_the_user_can_read_the_file_and_it_is_small(month: Project) -> None:
    path = os.path.join(month.state, "reports", "report.html")
    run = month.cli("report")
    assert (run.returncode, run.stderr) == (0, "")
    assert "written: %s" % path in run.stdout
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    assert os.path.getsize(path) < 1 << 20


class _Tags(HTMLParser):
    """Collects the elements and attributes of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.meta: dict[str, str] = {}

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        values = dict(attrs)
        if tag == "meta" and values.get("http-equiv"):
            self.meta[str(values["http-equiv"])] = str(values["content"])


def test_the_page_has_no_script_no_link_out_and_a_policy(month: Project) -> None:
    path = os.path.join(month.root, "r.html")
    month.cli("report", "--out", path)
    with open(path, encoding="utf-8") as file:
        text = file.read()
    seen = _Tags()
    seen.feed(text)
    assert not seen.tags & {"script", "img", "iframe", "link", "object", "embed", "form", "base"}
    assert not {name for name in seen.attributes if name.startswith("on") or name in ("style", "src")}
    assert seen.meta["Content-Security-Policy"].startswith("default-src 'none'; style-src 'sha256-")
    assert "http:" not in text
    assert "https:" not in text
    assert HOSTILE not in text


def test_prompts_come_from_the_transcripts(month: Project) -> None:
    missed = report(month)["missed"]
    assert "which region are the backups in?" in {row["text"] for row in missed["latest"]}
    assert missed["prompts"] > 20


def test_a_secret_in_a_prompt_is_not_shown(project: Project) -> None:
    key = "AKIA" + "Q3EGRIDTPQ4ZLMNB"
    text = "why does %s <private>my own secret</private> fail?" % key
    write_ledger(project, "recalls", {**RECALL, "outcome": "silent", "reason": "no_match", "prompt": text})
    output = json.dumps(report(project)["missed"])
    assert "why does" in output
    assert key not in output
    assert "my own secret" not in output


def test_stale_and_unused_memories_are_named_with_a_command(month: Project) -> None:
    memories = report(month)["memories"]
    stale = {row["title"]: row for row in memories["stale"]}["Roll back a release"]
    assert stale["why"] == "deploy/rollback.sh is not there"
    assert stale["fix"].startswith("memory edit ")
    unused = memories["unused"]
    assert "PDF exports use WeasyPrint" in {row["title"] for row in unused}
    commands = {bool(row["near"]): "memory edit %s --asked-as" % row["id"] for row in unused}
    text = month.cli("report", "--text", "--days", "3650").stdout
    assert [commands[near] in text for near in (True, False)] == [True, False], "only after a close call"


@pytest.mark.parametrize("columns_wide", ["80", "120"])
def test_the_text_shows_no_control_character(month: Project, columns_wide: str) -> None:
    run = month.cli("report", "--text", COLUMNS=columns_wide)
    assert run.returncode == 0
    assert "What Claude was shown" in run.stdout
    assert not {"\x1b", "\u202e"} & set(run.stdout)


def test_two_output_forms_at_once_are_refused(project: Project) -> None:
    assert project.cli("report", "--text", "--open").returncode == 2


def test_a_figure_of_many_values_is_the_value_at_its_rank() -> None:
    assert [quantile([float(n) for n in range(1, 101)], share) for share in (0.5, 0.95)] == [51.0, 96.0]
    assert quantile([], 0.5) is None


@pytest.mark.parametrize(
    ("days", "since", "until", "values"),
    [
        ({"2026-11-02": {"told": 1}}, "2026-11-01", "2026-11-04", [{}, {"told": 1}, {}, {}]),
        (
            {"2026-11-02": {"told": 1}, "2026-11-05": {"told": 3, "silent": 4}, "2026-11-06": {"told": 2}},
            "2026-11-01",
            "2026-11-07",
            [{"told": 1}, {}, {"told": 5, "silent": 4}, {}],
        ),
        ({"no date": {"told": 1}, "2026-12-01": {"told": 1}}, "2026-11-01", "2026-11-01", [{}]),
    ],
    ids=["days without numbers", "several days in a column", "days outside"],
)
def test_columns_of_a_chart(
    days: dict[str, dict[str, int]], since: str, until: str, values: list[dict[str, int]]
) -> None:
    assert [bucket.values for bucket in fill_buckets(days, since, until, 4)] == values


def test_columns_of_several_days_say_which() -> None:
    buckets = fill_buckets({}, "2016-01-01", "2026-01-01", 62)
    assert len(buckets) <= 62
    assert buckets[0].label == "Jan 1, 2016 to Feb 28, 2016"


def test_safe_text_cannot_end_an_element() -> None:
    assert not {"<", ">", '"', "'"} & set(safe(HOSTILE))


def test_lines_without_a_record_are_counted_as_skipped(tmp_path: Path) -> None:
    (tmp_path / "recalls.jsonl").write_bytes(b"\xff\n{}\n[1]\n\n" + dumps(RECALL).encode() + b"\n")
    figures = LedgerFigures(str(tmp_path), "2026", "2027", "")
    assert (figures.recalls.prompts, figures.lines, figures.skipped) == (1, 4, 2)


@pytest.mark.parametrize("ending", ["", "\n"])
def test_an_endless_line_damages_no_other(tmp_path: Path, ending: str) -> None:
    line = dumps(RECALL).encode() + b"\n"
    (tmp_path / "recalls.jsonl").write_bytes(
        line + b"x" * (3 << 20) + b"\n" + line + line[:-9] + ending.encode()
    )
    assert LedgerFigures(str(tmp_path), "2026", "2027", "").recalls.prompts == 2
