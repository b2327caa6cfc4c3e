"""Check digits, ranges and structures: the length of the valid beginning, or 0."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_plugin.kernel.hygiene.checks import CHECKS

VALID = [
    ("card", "4716221051885662"),  # visa
    ("card", "5500 0000 0000 0004"),  # mastercard in groups
    ("card", "378282246310005"),  # american express
    ("card-in-context", "060426070029"),  # twelve digits with a check digit
    ("iban", "DE89370400440532013000"),  # german account
    ("iban", "NO9386011117947"),  # shortest country
    ("iban", "gb82 west 1234 5698 7654 32"),  # lower case in groups
    ("ssn", "536-22-8145"),  # number in range
    ("ip", "10.20.0.5"),  # address
    ("ip", "2001:db8::1"),  # shortened
    ("ip", "1:2:3:4:5:6:7:8"),  # all eight groups
    ("ip", "::ffff:10.20.0.1"),  # with an IPv4 end
    ("phone", "+49 30 901820"),  # international
    ("phone", "+22 33 44 23 42"),  # three different digits
    ("bsn", "123456782"),  # dutch number
    ("phone-national", "079 2718 1155"),  # national
    ("rrn", "991231-1000007"),  # korean number of the last day of a year
    ("rrn", "850929-1000080"),  # korean number whose remainder is one
    ("rrn", "850929-1000171"),  # korean number whose remainder is nought
    ("jwt", "eyJhbGciOiJIUzI1NiJ9.e30.x"),  # header that names an algorithm
]
INVALID = [
    ("card", "4716221051885663"),  # wrong check digit
    ("card", "1716221051885665"),  # no such scheme
    ("card-in-context", "0000000000000000"),  # one digit over and over
    ("iban", "DE89370400440532013001"),  # wrong remainder
    ("iban", "DE8937040044053201300"),  # too short for its country
    ("iban", "XX89370400440532013000"),  # no such country
    ("ssn", "000-12-3456"),  # area 000
    ("ssn", "666-12-3456"),  # area 666
    ("ssn", "912-12-3456"),  # area from 900
    ("ssn", "536-00-3456"),  # group 00
    ("ssn", "536-12-0000"),  # serial 0000
    ("ssn", "078-05-1120"),  # voided number
    ("ip", "256.1.1.1"),  # byte out of range
    ("ip", "01.2.3.4"),  # leading zero
    ("ip", "1.2.3"),  # three parts
    ("ip", "127.0.0.1"),  # this machine
    ("ip", "255.255.255.0"),  # mask
    ("ip", "::1"),  # this machine
    ("ip", "1::2::3"),  # shortened twice
    ("ip", "1:2:3"),  # too few groups
    ("ip", "a::b"),  # code
    ("ip", "12345::1"),  # group too long
    ("ip", ":1::2"),  # single colon first
    ("ip", "::1.2.3"),  # half an IPv4 end
    ("phone", "+1 23"),  # too few digits
    ("phone", "(49 30 901820"),  # open bracket
    ("phone", "111 111 1111"),  # one digit over and over
    ("phone", "121 212 1212"),  # two digits over and over
    ("bsn", "12345677"),  # dutch number of eight digits
    ("phone-national", "05-11-2024"),  # date
    ("rrn", "901301-2000011"),  # korean number of a thirteenth month
    ("rrn", "900132-2000011"),  # korean number of a thirty-second day
    ("rrn", "850940-1234564"),  # korean number of a fortieth day
    ("rrn", "850900-1234566"),  # korean number of day nought
    ("rrn", "850012-1234569"),  # korean number of month nought
    ("jwt", "eyJub3QiOnRydWV9.e30.x"),  # header without algorithm
    ("jwt", "eyJh.e30.x"),  # header cut
    ("jwt", "aGVsbG8.e30.x"),  # header no JSON
]


def test_valid() -> None:
    assert [(check, value) for check, value in VALID if CHECKS[check](value) != len(value)] == []


def test_invalid() -> None:
    assert [(check, value) for check, value in INVALID if CHECKS[check](value) != 0] == []


def test_an_iban_ends_where_its_country_says() -> None:
    assert CHECKS["iban"]("DE89 3704 0044 0532 0130 00 pays") == len("DE89 3704 0044 0532 0130 00")


@pytest.mark.parametrize("digits", ["4111111111111111", "4000056655665556", "4242424242424242"])
def test_one_wrong_digit_never_passes(digits: str) -> None:
    check = CHECKS["card-in-context"]
    assert check(digits) == len(digits)
    wrong = [
        digits[:at] + other + digits[at + 1 :]
        for at, digit in enumerate(digits)
        for other in "0123456789".replace(digit, "")
    ]
    assert list(filter(check, wrong)) == []


@pytest.mark.parametrize("check", CHECKS)
@given(value=st.text(alphabet="0123456789abcdefGB:.-+() \u0660\u00b2", min_size=4, max_size=40))
def test_no_candidate_breaks_a_check(check: str, value: str) -> None:
    assert 0 <= CHECKS[check](value) <= len(value)


# As countries print them: ISO 13616, SWIFT's registry.
IBAN_LENGTHS = {
    "NO": 15, "BE": 16, "NL": 18, "MK": 19, "AT": 20, "CH": 21, "DE": 22, "AE": 23, "ES": 24, "PT": 25, "TR": 26, "FR": 27, "PL": 28,
    "BR": 29, "KW": 30, "MT": 31, "LC": 32, "RU": 33,
}  # fmt: skip


@pytest.mark.parametrize(("country", "length"), IBAN_LENGTHS.items())
def test_each_country_has_its_length_of_account(country: str, length: int) -> None:
    iban = CHECKS["iban"]
    for characters in (length - 1, length, length + 1):
        account = "7" * (characters - 4)
        number = int(account + "".join(str(int(letter, 36)) for letter in country) + "00")
        written = "%s%02d%s" % (country, 98 - number % 97, account)
        assert iban(written) == (length if characters == length else 0)
