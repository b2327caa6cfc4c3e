"""The benchmark on LoCoMo's file, with a conversation of the same form."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.project import PLUGIN_ROOT

CONVERSATION = {
    "speaker_a": "Ada", "speaker_b": "Ben",
    "session_1_date_time": "8 May 2023",
    "session_1": [
        {"speaker": "Ada", "dia_id": "D1:1", "text": "I adopted a grey rabbit from the shelter."},
        {"speaker": "Ben", "dia_id": "D1:2", "text": "My pottery class begins on Monday.", "blip_caption": "a clay bowl"},
    ],
    "session_2_date_time": "9 June 2023",
    "session_2": [{"speaker": "Ada", "dia_id": "D2:1", "text": "We planted tomatoes on the balcony."}],
}  # fmt: skip
QUESTIONS = [
    {"question": "What animal did Ada adopt?", "evidence": ["D1:1"], "category": 4},
    {
        "question": "Who made a clay bowl, and who planted tomatoes?",
        "evidence": ["D1:2; D2:1"],
        "category": 1,
    },
    {"question": "What is missing?", "evidence": [], "category": 5},
]


@pytest.mark.parametrize(
    ("option", "multi"), [((), [1.0, 1.0, 1.0, 1.0]), (("--sessions",), [1.0, 1.0, 1.0, 1.0])]
)
def test_each_question_with_evidence_counts(
    tmp_path: Path, option: tuple[str, ...], multi: list[float]
) -> None:
    path = tmp_path / "locomo.json"
    path.write_text(json.dumps([{"conversation": CONVERSATION, "qa": QUESTIONS}]), encoding="utf-8")
    command = [sys.executable, "benchmarks/locomo.py", str(path), "--conversations", "0", "--json", *option]
    done = subprocess.run(command, cwd=PLUGIN_ROOT, capture_output=True, check=True, timeout=60)
    for table in json.loads(done.stdout).values():
        assert table["multi-hop"] == multi
        assert table["all"][-1] == 2
        assert "adversarial" not in table
