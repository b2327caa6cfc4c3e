"""Check digits, ranges and structures: the length of the valid beginning, or 0."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_plugin.kernel.hygiene.checks import CHECKS

VALID = [
    pytest.param("card", "4716221051885662", id="visa"),
    pytest.param("card", "5500 0000 0000 0004", id="mastercard in groups"),
    pytest.param("card", "378282246310005", id="american express"),
    pytest.param("card-in-context", "060426070029", id="twelve digits with a check digit"),
    pytest.param("iban", "DE89370400440532013000", id="german account"),
    pytest.param("iban", "NO9386011117947", id="shortest country"),
    pytest.param("iban", "gb82 west 1234 5698 7654 32", id="lower case in groups"),
    pytest.param("ssn", "536-22-8145", id="number in range"),
    pytest.param("ipv4", "10.20.0.5", id="address"),
    pytest.param("ipv6", "2001:db8::1", id="shortened"),
    pytest.param("ipv6", "1:2:3:4:5:6:7:8", id="all eight groups"),
    pytest.param("ipv6", "::ffff:10.20.0.1", id="with an IPv4 end"),
    pytest.param("phone", "+49 30 901820", id="international"),
    pytest.param("phone", "+22 33 44 23 42", id="three different digits"),
    pytest.param("bsn", "123456782", id="dutch number"),
    pytest.param("phone-national", "079 2718 1155", id="national"),
    pytest.param("rrn", "991231-1000007", id="korean number of the last day of a year"),
    pytest.param("rrn", "850929-1000080", id="korean number whose remainder is one"),
    pytest.param("rrn", "850929-1000171", id="korean number whose remainder is nought"),
    pytest.param("jwt", "eyJhbGciOiJIUzI1NiJ9.e30.x", id="header that names an algorithm"),
]
INVALID = [
    pytest.param("card", "4716221051885663", id="wrong check digit"),
    pytest.param("card", "1716221051885665", id="no such scheme"),
    pytest.param("card-in-context", "0000000000000000", id="one digit over and over"),
    pytest.param("iban", "DE89370400440532013001", id="wrong remainder"),
    pytest.param("iban", "DE8937040044053201300", id="too short for its country"),
    pytest.param("iban", "XX89370400440532013000", id="no such country"),
    pytest.param("ssn", "000-12-3456", id="area 000"),
    pytest.param("ssn", "666-12-3456", id="area 666"),
    pytest.param("ssn", "912-12-3456", id="area from 900"),
    pytest.param("ssn", "536-00-3456", id="group 00"),
    pytest.param("ssn", "536-12-0000", id="serial 0000"),
    pytest.param("ssn", "078-05-1120", id="voided number"),
    pytest.param("ipv4", "256.1.1.1", id="byte out of range"),
    pytest.param("ipv4", "01.2.3.4", id="leading zero"),
    pytest.param("ipv4", "1.2.3", id="three parts"),
    pytest.param("ipv6", "1::2::3", id="shortened twice"),
    pytest.param("ipv6", "1:2:3", id="too few groups"),
    pytest.param("ipv6", "a::b", id="code"),
    pytest.param("ipv6", "12345::1", id="group too long"),
    pytest.param("ipv6", ":1::2", id="single colon first"),
    pytest.param("ipv6", "::1.2.3", id="half an IPv4 end"),
    pytest.param("phone", "+1 23", id="too few digits"),
    pytest.param("phone", "(49 30 901820", id="open bracket"),
    pytest.param("phone", "111 111 1111", id="one digit over and over"),
    pytest.param("phone", "121 212 1212", id="two digits over and over"),
    pytest.param("bsn", "12345677", id="dutch number of eight digits"),
    pytest.param("phone-national", "05-11-2024", id="date"),
    pytest.param("rrn", "901301-2000011", id="korean number of a thirteenth month"),
    pytest.param("rrn", "900132-2000011", id="korean number of a thirty-second day"),
    pytest.param("rrn", "850940-1234564", id="korean number of a fortieth day"),
    pytest.param("rrn", "850900-1234566", id="korean number of day nought"),
    pytest.param("rrn", "850012-1234569", id="korean number of month nought"),
    pytest.param("jwt", "eyJub3QiOnRydWV9.e30.x", id="header without algorithm"),
    pytest.param("jwt", "eyJh.e30.x", id="header cut"),
    pytest.param("jwt", "aGVsbG8.e30.x", id="header no JSON"),
]


@pytest.mark.parametrize(("check", "value"), VALID)
def test_valid(check: str, value: str) -> None:
    assert CHECKS[check](value) == len(value)


@pytest.mark.parametrize(("check", "value"), INVALID)
def test_invalid(check: str, value: str) -> None:
    assert CHECKS[check](value) == 0


def test_an_iban_ends_where_its_country_says() -> None:
    assert CHECKS["iban"]("DE89 3704 0044 0532 0130 00 pays") == len("DE89 3704 0044 0532 0130 00")


@given(st.from_regex(r"\A4\d{15}\Z"), st.integers(0, 15), st.integers(1, 9))
def test_one_wrong_digit_never_passes(digits: str, place: int, shift: int) -> None:
    changed = digits[:place] + str((int(digits[place]) + shift) % 10) + digits[place + 1 :]
    assert not (CHECKS["card-in-context"](digits) and CHECKS["card-in-context"](changed))


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
