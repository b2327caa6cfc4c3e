"""A newcomer's first recall in the real client: the steps of its page, in less than two minutes."""

from __future__ import annotations

import pytest

from tests.client.first_recall import first_recall
from tests.client.sandbox import Sandbox
from tests.docs.pages import page

pytestmark = pytest.mark.client
MOST_SECONDS = 120


def test_the_steps_of_the_page_lead_to_a_recall_within_two_minutes(box: Sandbox) -> None:
    steps, told = first_recall(box)
    assert told
    assert sum(step.seconds for step in steps) < MOST_SECONDS
    text = page("docs/first-recall.md")
    assert [step.what for step in steps if "| %s |" % step.what not in text] == []
