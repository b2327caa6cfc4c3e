"""The policy: what happens to a finding in each place, such as a memory, an injected text, a judge's question or a ledger."""

from __future__ import annotations

from functools import cache

from ..hygiene_choice import allowed
from .tables import DataError, table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

ACTIONS = ("allow", "redact", "block")
KINDS = (
    "secret",
    "url_credentials",
    "credit_card",
    "iban",
    "us_ssn",
    "email",
    "phone",
    "ip_address",
    "home_path",
    "person_name",
    "postal_address",
    "birth_date",
    "national_id",
)


@cache
def places() -> Mapping[str, Mapping[str, str]]:
    """Return the action by kind or rule id, for each place. Raises DataError for an unknown action or a missing kind."""
    policy = table("policy.json").get("places")
    if not isinstance(policy, dict) or not all(isinstance(actions, dict) for actions in policy.values()):
        raise DataError("policy.json: places: expected an object of objects")
    for place, actions in policy.items():
        invalid = [key for key, name in actions.items() if name not in ACTIONS]
        invalid += [kind for kind in KINDS if kind not in actions]
        if invalid:
            raise DataError("policy.json: places: %s: expected one of %s for %s" % (place, ACTIONS, invalid))
    return policy


def check(place: str) -> None:
    """Raise ValueError for an unknown place."""
    if place not in places():
        raise ValueError("no such place: %r; the policy knows %s" % (place, ", ".join(places())))


def action(place: str, kind: str, rule: str) -> str:
    """Return the action, "allow", "redact" or "block"; an entry for the rule takes precedence over one for its kind.

    A rule in the user's setting `hygiene.allow` is allowed everywhere.
    """
    if allowed(rule):
        return "allow"
    return places()[place].get(rule, places()[place][kind])
