"""A new user's first recall in the real client takes the steps of the README and less than two minutes."""

from __future__ import annotations

import pytest

from tests.client.first_recall import first_recall
from tests.client.sandbox import Sandbox
from tests.docs.pages import page

pytestmark = pytest.mark.client
MAX_SECONDS = 120


def test_the_steps_of_the_readme_lead_to_a_recall_within_two_minutes(sandbox: Sandbox) -> None:
    steps, was_recalled = first_recall(sandbox)
    assert was_recalled
    assert sum(step.seconds for step in steps) < MAX_SECONDS
    lines = [line.strip("> ") for line in page("README.md").splitlines()]
    assert [step.what for step in steps if step.what.strip("`") not in lines] == []
