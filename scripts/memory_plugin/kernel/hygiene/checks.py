"""Checks that a candidate must pass: check digits, ranges, and structure.

Each takes the candidate and returns the length of its valid beginning, or 0 if rejected.
"""

from __future__ import annotations

import re
from binascii import Error as Base64Error
from binascii import a2b_base64

from ..fastjson import loads
from .national_checks import NATIONAL_CHECKS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_CARD_SCHEMES = (  # first digits and length: ISO/IEC 7812 and the schemes' own tables
    (re.compile(r"4|5[1-5]|222[1-9]|22[3-9]|2[3-6]|27[01]|2720"), 16),  # Visa, Mastercard
    (re.compile(r"6011|64[4-9]|65|35|62|220[0-4]"), 16),  # Discover, JCB, UnionPay, Mir
    (re.compile(r"3[47]|2131|1800"), 15),  # American Express, JCB
)
# ISO 13616 registry: countries by the number of characters of their IBAN.
_IBAN_LENGTHS = {
    15: "NO",
    16: "BE",
    18: "DK FI FK FO GL NL SD",
    19: "MK SI",
    20: "AT BA EE KZ LT LU MN XK",
    21: "CH HR LI LV",
    22: "BG BH CR DE GB GE IE ME RS VA",
    23: "AE GI IL IQ OM SO TL",
    24: "AD CZ ES MD PK RO SA SE SK TN VG",
    25: "LY PT ST",
    26: "IS TR",
    27: "BI DJ FR GR IT MC MR SM",
    28: "AL AZ BY CY DO GT HN HU LB NI PL SV",
    29: "BR EG PS QA UA",
    30: "JO KW MU YE",
    31: "MT SC",
    32: "LC",
    33: "RU",
}
_SSN_NEVER_ISSUED = ("078051120", "219099999")  # printed in advertisements; the administration voided them
_PHONE_DIGITS = range(7, 16)  # ITU-T E.164: at most 15
_NATIONAL_DIGITS = range(9, 12)
_GROUPS_OF_IPV6 = 8


def _digits(value: str) -> str:
    return "".join(c for c in value if c.isdecimal())


def _luhn(digits: str) -> bool:
    """Return whether the Luhn check digit is right (ISO/IEC 7812-1, annex B)."""
    total = 0
    for place, digit in enumerate(reversed(digits)):
        double = int(digit) * 2 if place % 2 else int(digit)
        total += double - 9 if double > 9 else double
    return total % 10 == 0


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
    length = next((length for length, countries in _IBAN_LENGTHS.items() if country in countries.split()), 0)
    end = count = 0
    while end < len(value) and count < length:
        count += value[end].isalnum()
        end += 1
    account = "".join(c for c in value[:end] if c.isalnum()).upper()
    if not length or len(account) != length or value[end : end + 1].isalnum():
        return 0
    number = "".join(str(int(c, 36)) for c in account[4:] + account[:4])
    return end if int(number) % 97 == 1 else 0


def _ssn(value: str) -> int:
    """Check that the number can have been issued: no area 000, 666 or from 900 up, no group 00, no serial 0000 (20 CFR 422)."""
    digits = _digits(value)
    area, group, serial = digits[:3], digits[3:5], digits[5:]
    void = area in ("000", "666") or area[:1] == "9" or group == "00" or serial == "0000"
    return 0 if void or digits in _SSN_NEVER_ISSUED else len(value)


def _ipv4(value: str) -> int:
    parts = value.split(".")
    valid = len(parts) == 4 and all(p.isdecimal() and str(int(p)) == p and int(p) < 256 for p in parts)
    return len(value) if valid else 0


def _ipv6(value: str) -> int:
    """Check all three forms of RFC 4291, section 2.2; at least one digit is required, since `a::b` is code."""
    head, colon, last = value.rpartition(":")
    value_v6 = value
    if "." in last:  # the last 32 bits may be written as an IPv4 address
        value_v6 = head + colon + "0:0" if _ipv4(last) else ""
    if value_v6.count("::") > 1 or ":::" in value_v6 or not any(c.isdigit() for c in value):
        return 0
    if (value_v6[:1] == ":" != value_v6[1:2]) or (value_v6[-1:] == ":" != value_v6[-2:-1]):
        return 0
    groups = [group for group in value_v6.split(":") if group]
    full = len(groups) == _GROUPS_OF_IPV6 and "::" not in value_v6
    short = 0 < len(groups) < _GROUPS_OF_IPV6 and "::" in value_v6
    return len(value) if (full or short) and all(len(group) <= 4 for group in groups) else 0


def _phone(value: str) -> int:
    """Check the length (ITU-T E.164), balanced brackets, and that the digits are not all the same."""
    digits = _digits(value)
    balanced = value.count("(") == value.count(")")
    return len(value) if len(digits) in _PHONE_DIGITS and balanced and len(set(digits)) > 2 else 0


def _national_phone(value: str) -> int:
    """Check a national number: most have 9 to 11 digits with the trunk prefix 0, and dates have 8."""
    return _phone(value) if len(_digits(value)) in _NATIONAL_DIGITS else 0


def _jwt(value: str) -> int:
    """Check that the header is a JSON object that names the algorithm (RFC 7515)."""
    header = value.partition(".")[0]
    try:
        raw = a2b_base64(header.replace("-", "+").replace("_", "/") + "=" * (-len(header) % 4))
        parsed = loads(raw.decode("utf-8"))
    except (Base64Error, ValueError):
        return 0
    return len(value) if isinstance(parsed, dict) and "alg" in parsed else 0


CHECKS: Mapping[str, Callable[[str], int]] = {
    "card": _card,
    "card-in-context": _any_card,
    "iban": _iban,
    "ipv4": _ipv4,
    "ipv6": _ipv6,
    "jwt": _jwt,
    "phone": _phone,
    "phone-national": _national_phone,
    "ssn": _ssn,
    **NATIONAL_CHECKS,
}
