"""Keys and values as people write them on the command line."""

from __future__ import annotations

import pytest

from memory_plugin.kernel.settings.schema import keys
from memory_plugin.kernel.settings.user_file import WrongValueError, parsed
from tests.kernel.settings.files import Box, set_value


def test_values() -> None:
    cases = [
        ("retrieval.max_inject", "2", 2),
        ("retrieval.enabled", "false", False),
        ("retrieval.inject_threshold", "0.25", 0.25),
        ("retrieval.inject_threshold", "0", 0),
        ("retrieval.receipt", "all", "all"),
        ("retrieval.receipt", '"all"', "all"),
        ("judge.base_url", "", ""),
        ("hygiene.allow", '["email"]', ["email"]),
    ]
    assert [(name, text, value) for name, text, value in cases if parsed(keys()[name], text) != value] == []


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("retrieval.max_inject", "two", 'expected a whole number from 0 to 10, got "two"'),
        ("retrieval.max_inject", "2.0", "expected a whole number from 0 to 10, got 2.0"),
        ("retrieval.enabled", "yes", 'expected true or false, got "yes"'),
        ("retrieval.enabled", "", 'expected true or false, got ""'),
        ("retrieval.receipt", '"', 'expected one of "off", "injected", "all", got "\\""'),
        ("hygiene.allow", "email", 'expected a list of known ids, got "email"'),
        ("hygiene.allow", '["x"]', 'expected a list of known ids, got one with "x"'),
        (
            "hygiene.allow",
            '["email", "E-mail"]',
            'expected a list of known ids, got one with "E-mail"; nearest: email',
        ),
        (
            "hygiene.allow",
            '["phone"]',
            'expected a list of known ids, got one with "phone"; nearest: phone-in-context',
        ),
        ("hygiene.packs", '["de"]', 'expected a list of "national-ids", got one with "de"'),
        ("evaluation.judge.judges", "[3]", "expected a list of texts, got one with 3"),
        ("retrieval.inject_threshold", "NaN", 'expected a number from 0 to 1, got "NaN"'),
        ("retrieval.inject_threshold", "1e999", "expected a number from 0 to 1, got an infinite number"),
    ],
)
def test_values_that_do_not_fit(box: Box, name: str, text: str, message: str) -> None:
    with pytest.raises(WrongValueError) as error:
        set_value(box.config, name, parsed(keys()[name], text))
    assert str(error.value) == name + ": " + message
