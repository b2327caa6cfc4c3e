"""Checks that a candidate must pass: check digits, ranges, and structure, also those of the ids of several countries.

Each takes the candidate and returns the length of its valid beginning, or 0 if rejected.
"""

from __future__ import annotations

import re
from binascii import a2b_base64
from collections.abc import Callable, Mapping
from ipaddress import ip_address
from operator import mul

from ..fastjson import loads
from .filters import words

_CARD_SCHEMES = (  # first digits and length: ISO/IEC 7812 and the schemes' own tables
    (re.compile(r"4|5[1-5]|222[1-9]|22[3-9]|2[3-6]|27[01]|2720"), 16),  # Visa, Mastercard
    (re.compile(r"6011|64[4-9]|65|35|62|220[0-4]"), 16),  # Discover, JCB, UnionPay, Mir
    (re.compile(r"3[47]|2131|1800"), 15),  # American Express, JCB
)
_SSN_NEVER_ISSUED = ("078051120", "219099999")  # printed in advertisements; the administration voided them
# Numbers that no person has: area code 555, 555-0100 to 555-0199, the ranges that Ofcom keeps for drama, and toll-free ones.
_FICTIONAL_PHONES = re.compile(
    r"1?(?:(?:555|8([03-8])\1)\d{7}|\d{3}55501\d\d)|55501\d\d|(?:44|0)?(?:2079460|1632960|7700900)\d{3}"
)
_PHONE_DIGITS = range(7, 16)  # ITU-T E.164: at most 15
_NATIONAL_DIGITS = range(9, 12)
_ODD = (1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 2, 4, 18, 20, 11, 3, 6, 8, 12, 14, 16, 10, 22, 25, 24, 23)
_RRN_WEIGHTS = (2, 3, 4, 5, 6, 7, 8, 9, 2, 3, 4, 5)
# Verhoeff's permutation of the digits (1969), applied once more at each place.
_VERHOEFF = (1, 5, 7, 6, 2, 8, 3, 0, 9, 4)


def _digits(value: str) -> str:
    return "".join(c for c in value if c.isdecimal())


def _numbers(value: str) -> list[int]:
    return [int(c) for c in value if c.isdecimal()]


def _luhn(digits: str) -> bool:
    """Return whether the Luhn check digit is right (ISO/IEC 7812-1, annex B)."""
    # Every second digit is doubled, and of two digits the sum counts.
    products = (int(digit) * (1 + place % 2) for place, digit in enumerate(reversed(digits)))
    return sum(sum(divmod(product, 10)) for product in products) % 10 == 0


def _any_card(value: str) -> int:
    """Check only the check digit (ISO/IEC 7812-1), for rules whose context mentions cards."""
    digits = _digits(value)
    return len(value) if len(set(digits)) > 1 and _luhn(digits) else 0


def _card(value: str) -> int:
    """Check the first digits and the length against the card schemes, too; hardly any other number matches."""
    digits = _digits(value)
    is_known = any(len(digits) == length and prefix.match(digits) for prefix, length in _CARD_SCHEMES)
    return _any_card(value) if is_known else 0


def _iban(value: str) -> int:
    """Check the country's length, and the remainder 1 modulo 97 (ISO 13616)."""
    country = value[:2].upper()
    rows = (row.split() for row in words("iban_lengths"))
    length = next((int(length) for length, *countries in rows if country in countries), 0)
    places = [at for at, c in enumerate(value) if c.isalnum()][:length]
    end = places[-1] + 1 if places else 0
    if not length or len(places) != length or value[end : end + 1].isalnum():
        return 0
    account = _letters(value[:end])
    number = "".join(str(int(c, 36)) for c in account[4:] + account[:4])
    return end if int(number) % 97 == 1 else 0


def _ssn(value: str) -> int:
    """Check that the number can have been issued: no area 000, 666 or from 900 up, no group 00, no serial 0000 (20 CFR 422)."""
    digits = _digits(value)
    area, group, serial = digits[:3], digits[3:5], digits[5:]
    void = area in ("000", "666") or area[:1] == "9" or group == "00" or serial == "0000"
    return 0 if void or digits in _SSN_NEVER_ISSUED else len(value)


def _ip(value: str) -> int:
    """Check an address, in version 6 all three forms of RFC 4291, section 2.2, with at least one digit, since `a::b` is code."""
    try:
        address = ip_address(value)
    except ValueError:
        return 0
    is_range = address.version == 4 and (address.is_reserved or address.is_multicast or address.is_link_local)
    is_code = "%" in value or not any(map(str.isdigit, value))
    return 0 if address.is_loopback or address.is_unspecified or is_range or is_code else len(value)


def _phone(value: str) -> int:
    """Check the length (ITU-T E.164), balanced brackets, and that the number is no placeholder."""
    digits = _digits(value)
    if _FICTIONAL_PHONES.fullmatch(digits) or digits in _SSN_NEVER_ISSUED:
        return 0
    balanced = value.count("(") == value.count(")")
    return len(value) if len(digits) in _PHONE_DIGITS and balanced and len(set(digits)) > 2 else 0


def _jwt(value: str) -> int:
    """Check that the header is a JSON object that names the algorithm (RFC 7515)."""
    header = value.partition(".")[0]
    try:
        raw = a2b_base64(header.replace("-", "+").replace("_", "/") + "=" * (-len(header) % 4))
        parsed = loads(raw.decode("utf-8"))
    except ValueError:
        return 0
    return len(value) if isinstance(parsed, dict) and "alg" in parsed else 0


def _letters(value: str) -> str:
    return "".join(c for c in value if c.isalnum()).upper()


def _by_weights(*weights: int) -> Callable[[str], int]:
    """Return the check of a number whose digits, by their weights, have a sum that is divisible by 11."""

    def check(value: str) -> int:
        digits = _numbers(value)
        is_whole = len(digits) == len(weights) and len(set(digits)) > 1
        return len(value) if is_whole and sum(map(mul, digits, weights)) % 11 == 0 else 0

    return check


def _steuer_id(value: str) -> int:
    """Check a German tax id: ISO 7064 modulo 11,10; among ten digits one or two repeat (Bundeszentralamt fuer Steuern)."""
    digits = _numbers(value)
    if len(digits) != 11 or digits[0] == 0 or not 7 < len(set(digits[:10])) < 10:
        return 0
    product = 10
    for digit in digits[:10]:
        total = (digit + product) % 10 or 10
        product = total * 2 % 11
    return len(value) if (11 - product) % 10 == digits[10] else 0


def _nir(value: str) -> int:
    """Check a French social security number: 97 less the number modulo 97; 2A and 2B stand for Corsica (INSEE)."""
    text = _letters(value)
    number = text[:13].replace("2A", "19").replace("2B", "18")
    valid = len(text) == 15 and number.isdecimal() and text[13:].isdecimal()
    return len(value) if valid and 97 - int(number) % 97 == int(text[13:]) else 0


def _dni(value: str) -> int:
    """Check a Spanish DNI or NIE: a letter by the number modulo 23; X, Y, Z stand for 0, 1, 2 (Orden INT/2058/2008)."""
    text = _letters(value)
    number = text[:-1].replace("X", "0").replace("Y", "1").replace("Z", "2")
    return len(value) if number.isdecimal() and "TRWAGMYFPDXBNJZSQVHLCKE"[int(number) % 23] == text[-1] else 0


def _codice_fiscale(value: str) -> int:
    """Check an Italian tax code: odd places by a table, even ones by rank, modulo 26 (Decreto 23 December 1976)."""
    text = _letters(value)
    if len(text) != 16 or not text.isascii():
        return 0
    ranks = [int(c) if c.isdecimal() else ord(c) - ord("A") for c in text[:15]]
    total = sum(_ODD[rank] if place % 2 == 0 else rank for place, rank in enumerate(ranks))
    return len(value) if chr(ord("A") + total % 26) == text[15] else 0


def _rrn(value: str) -> int:
    """Check a Korean resident number: a date, then weights modulo 11 (until October 2020; later ones carry no check digit)."""
    digits = _numbers(value)
    if len(digits) != 13:
        return 0
    month, day = digits[2] * 10 + digits[3], digits[4] * 10 + digits[5]
    check = (11 - sum(digit * weight for digit, weight in zip(digits, _RRN_WEIGHTS)) % 11) % 10
    return len(value) if 1 <= month <= 12 and 1 <= day <= 31 and check == digits[12] else 0


def _aadhaar(value: str) -> int:
    """Check an Indian Aadhaar: Verhoeff's check digit (UIDAI), and a first digit of 2 to 9."""
    digits = _numbers(value)
    check = 0
    for place, digit in enumerate(reversed(digits)):
        factor = digit
        for _ in range(place % 8):
            factor = _VERHOEFF[factor]
        # The product in the dihedral group of order 10.
        total = check + factor if check < 5 else check - factor
        check = total % 5 + (5 if (check < 5) != (factor < 5) else 0)
    return len(value) if len(digits) == 12 and digits[0] > 1 and check == 0 else 0


CHECKS: Mapping[str, Callable[[str], int]] = {
    "card": _card,
    "card-in-context": _any_card,
    "iban": _iban,
    "ip": _ip,
    "jwt": _jwt,
    "phone": _phone,
    # Most national numbers have 9 to 11 digits with the trunk prefix 0, and dates have 8.
    "phone-national": lambda value: _phone(value) if len(_digits(value)) in _NATIONAL_DIGITS else 0,
    "ssn": _ssn,
    "aadhaar": _aadhaar,
    "bsn": _by_weights(9, 8, 7, 6, 5, 4, 3, 2, -1),  # Rijksdienst voor Identiteitsgegevens
    "codice-fiscale": _codice_fiscale,
    "dni": _dni,
    "nhs": _by_weights(10, 9, 8, 7, 6, 5, 4, 3, 2, 1),  # NHS Data Dictionary
    "nir": _nir,
    "rrn": _rrn,
    "steuer-id": _steuer_id,
}
