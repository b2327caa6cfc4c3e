"""The action for a finding in each place."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from memory_plugin.kernel.hygiene import policy
from memory_plugin.kernel.hygiene.tables import DataError

EVERYWHERE = ("secret", "url_credentials", "credit_card", "iban", "us_ssn")
USEFUL = ("email", "phone", "ip_address", "home_path")


@pytest.fixture
def changed(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, dict[str, str]]]:
    """Yield a policy of the test's own."""
    places = {"memory": dict.fromkeys(policy.KINDS, "redact")}
    monkeypatch.setattr(policy, "table", {"policy.json": {"places": places}}.__getitem__)
    policy.places.cache_clear()
    yield places
    policy.places.cache_clear()


@pytest.mark.parametrize("place", ["memory", "inject", "judge", "ledger", "report"])
@pytest.mark.parametrize("kind", EVERYWHERE)
def test_secrets_and_account_numbers_go_everywhere(place: str, kind: str) -> None:
    assert policy.action(place, kind, "any") == "redact"


@pytest.mark.parametrize("kind", USEFUL)
def test_a_runbook_keeps_its_addresses_and_what_is_sent_does_not(kind: str) -> None:
    actions = [
        policy.action(place, kind, "any") for place in ("memory", "inject", "judge", "ledger", "report")
    ]
    assert actions == ["allow", "allow", "redact", "redact", "redact"]


def test_a_rule_goes_before_its_kind(changed: dict[str, dict[str, str]]) -> None:
    changed["memory"]["jwt"] = "block"
    assert policy.action("memory", "secret", "jwt") == "block"
    assert policy.action("memory", "secret", "other") == "redact"


def test_an_unknown_action_is_refused(changed: dict[str, dict[str, str]]) -> None:
    changed["memory"]["jwt"] = "forget"
    with pytest.raises(DataError, match=r"memory: expected one of .* for .'jwt'"):
        policy.places()


def test_a_missing_kind_is_refused(changed: dict[str, dict[str, str]]) -> None:
    del changed["memory"]["email"]
    with pytest.raises(DataError, match="'email'"):
        policy.places()
