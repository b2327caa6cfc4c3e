"""The doctor's checks of the state folder and of the models that the settings name."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memory_plugin.cli.command_context import CommandContext
from memory_plugin.cli.console import Console
from memory_plugin.host.environment import Taint
from memory_plugin.work import installation as module
from memory_plugin.work.installation import Check
from tests.kernel.judge.bench import Bench


@pytest.fixture
def check_models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Check]:
    """Return a function that runs the check on a day, with settings."""
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "config"))

    def check(day: str, memory: dict[str, Any] | None = None, **judge: object) -> Check:
        bench = Bench(str(tmp_path), **judge)  # type: ignore[arg-type]
        bench.settings()
        path = Path(bench.config) / "settings.json"
        content = json.loads(path.read_text(encoding="utf-8"))
        content["memory"] = {**({"judge": content["memory"]["judge"]} if judge else {}), **(memory or {})}
        path.write_text(json.dumps(content), encoding="utf-8")
        monkeypatch.setattr(module, "iso", lambda _: day + "T00:00:00Z")
        return module.models(CommandContext(bench.paths, Console(io.StringIO(), io.StringIO()), Taint()))

    return check


def test_the_default_models_pass(check_models: Callable[..., Check]) -> None:
    found = check_models("2026-11-22")
    assert (found.status, found.details) == ("ok", ())


def judge_of(model: str, *, on: bool = True) -> dict[str, Any]:
    """Return settings with a model for replies."""
    return {"scoring": {"mode": "hybrid" if on else "deterministic", "judge": {"model": model}}}


@pytest.mark.parametrize(
    ("day", "status", "words"),
    [
        ("2026-09-30", "ok", ""),
        ("2026-10-02", "warn", "will be retired on 2026-11-30, in 59 days"),
        ("2026-11-22", "warn", "will be retired on 2026-11-30, in 8 days"),
        ("2026-11-30", "warn", "was retired on 2026-11-30"),
        ("2027-03-01", "warn", "was retired on 2026-11-30"),
    ],
)
def test_a_retiring_model_is_a_warning_from_sixty_days_before(
    check_models: Callable[..., Check], day: str, status: str, words: str
) -> None:
    found = check_models(day, judge_of("claude-sonnet-4-5"))
    assert found.status == status
    assert words in " ".join(found.details)
    if words:
        assert "scoring.judge.model" in found.details[0] + found.fix


def test_a_model_of_a_judge_that_is_off_is_a_note(check_models: Callable[..., Check]) -> None:
    assert check_models("2026-11-22", judge_of("claude-sonnet-4-5", on=False)).status == "note"


def test_the_models_of_the_jury_are_checked_too(check_models: Callable[..., Check]) -> None:
    names = ["anthropic:claude-haiku-5-5", "openai:gpt-5-mini", "gemini:gemini-2.5-flash"]
    found = check_models("2026-11-22", {"evaluation": {"judge": {"judges": names}}})
    assert (found.status, len(found.details)) == ("warn", 2)
    assert any("requests then go to gemini-3.5-flash-lite" in detail for detail in found.details)
    assert all("evaluation.judge.judges" in detail for detail in found.details)


def test_an_invalid_jury_is_reported_only_by_the_judge_check(check_models: Callable[..., Check]) -> None:
    assert check_models("2026-11-22", {"evaluation": {"judge": {"judges": ["nobody:x"]}}}).status == "ok"


def test_a_state_folder_on_a_full_disk_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "config"))
    paths = Bench(str(tmp_path)).paths
    monkeypatch.setattr(module, "write_problem", lambda _: "No space left on device")
    found = module.state_folder(CommandContext(paths, Console(io.StringIO(), io.StringIO()), Taint()))
    assert (found.status, "(No space left on device)" in found.text) == ("fail", True)
    assert found.fix.startswith("free some space")
