"""Checks that a candidate must pass: check digits, ranges, and structure.

Each takes the candidate and returns the length of its valid beginning, 0 when there is none.
"""

from __future__ import annotations

import re
from binascii import Error as Base64Error
from binascii import a2b_base64
from typing import TYPE_CHECKING

from ..native import loads

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["CHECKS"]

_X = (
    (re.compile(r"4|5[1-5]|2[2-7]|6011|64[4-9]|65|35|62"), 16),
    (re.compile(r"3[47]"), 15),
)
_CARD_SCHEMES = (  # first digits and length: ISO/IEC 7812 and the schemes' own tables
    (re.compile(r"4|5[1-5]|222[1-9]|22[3-9]|2[3-6]|27[01]|2720"), 16),  # Visa, Mastercard
    (re.compile(r"6011|64[4-9]|65|35|62|220[0-4]"), 16),  # Discover, JCB, UnionPay, Mir
    (re.compile(r"3[47]|2131|1800"), 15),  # American Express, JCB
)
# ISO 13616 registry: characters of an IBAN by country.
_IBAN_LENGTHS = dict(
    pair.split(":")
    for pair in (
        "AD:24 AE:23 AL:28 AT:20 AZ:28 BA:20 BE:16 BG:22 BH:22 BI:27 BR:29 BY:28 CH:21 CR:22 CY:28 CZ:24 "
        "DE:22 DJ:27 DK:18 DO:28 EE:20 EG:29 ES:24 FI:18 FK:18 FO:18 FR:27 GB:22 GE:22 GI:23 GL:18 GR:27 "
        "GT:28 HN:28 HR:21 HU:28 IE:22 IL:23 IQ:23 IS:26 IT:27 JO:30 KW:30 KZ:20 LB:28 LC:32 LI:21 LT:20 "
        "LU:20 LV:21 LY:25 MC:27 MD:24 ME:22 MK:19 MN:20 MR:27 MT:31 MU:30 NI:28 NL:18 NO:15 OM:23 PK:24 "
        "PL:28 PS:29 PT:25 QA:29 RO:24 RS:22 RU:33 SA:24 SC:31 SD:18 SE:24 SI:19 SK:24 SM:27 SO:23 ST:25 "
        "SV:28 TL:23 TN:24 TR:26 UA:29 VA:22 VG:24 XK:20 YE:30"
    ).split()
)
_SSN_NEVER_ISSUED = ("078051120", "219099999")  # printed in advertisements; the administration voided them
_PHONE_DIGITS = range(7, 16)  # ITU-T E.164: at most 15
_NATIONAL_DIGITS = range(9, 12)
_GROUPS_OF_IPV6 = 8


def _digits(value: str) -> str:
    return "".join(c for c in value if c.isdigit())


def _luhn(digits: str) -> bool:
    """ISO/IEC 7812-1, annex B."""
    total = 0
    for place, digit in enumerate(reversed(digits)):
        double = int(digit) * 2 if place % 2 else int(digit)
        total += double - 9 if double > 9 else double
    return total % 10 == 0


def _any_card(value: str) -> int:
    """ISO/IEC 7812-1: the check digit alone, for where the text speaks of cards."""
    digits = _digits(value)
    return len(value) if len(set(digits)) > 1 and _luhn(digits) else 0


def _card(value: str) -> int:
    """The same with a known scheme's first digits and usual length, which hardly any other number has."""
    digits = _digits(value)
    known = any(len(digits) == length and prefix.match(digits) for prefix, length in _CARD_SCHEMES)
    return _any_card(value) if known else 0


def _iban(value: str) -> int:
    """ISO 13616: the country's length and the remainder 1 modulo 97."""
    length = int(_IBAN_LENGTHS.get(value[:2].upper(), 0))
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
    """20 CFR 422 and the administration's notes: no area 000, 666 or 900 up, no group 00, no serial 0000."""
    digits = _digits(value)
    area, group, serial = digits[:3], digits[3:5], digits[5:]
    void = area in ("000", "666") or area[0] == "9" or group == "00" or serial == "0000"
    return 0 if void or digits in _SSN_NEVER_ISSUED else len(value)


def _ipv4(value: str) -> int:
    parts = value.split(".")
    valid = len(parts) == 4 and all(p.isdigit() and str(int(p)) == p and int(p) < 256 for p in parts)
    return len(value) if valid else 0


def _ipv6(value: str) -> int:
    """RFC 4291, section 2.2, all three forms; at least one digit, since `a::b` is code."""
    head, colon, last = value.rpartition(":")
    if "." in last:
        value_v6 = head + colon + "0:0" if _ipv4(last) else ""
    else:
        value_v6 = value
    if value_v6.count("::") > 1 or ":::" in value_v6 or not any(c.isdigit() for c in value):
        return 0
    if (value_v6[:1] == ":" != value_v6[1:2]) or (value_v6[-1:] == ":" != value_v6[-2:-1]):
        return 0
    groups = [group for group in value_v6.split(":") if group]
    full = len(groups) == _GROUPS_OF_IPV6 and "::" not in value_v6
    short = 0 < len(groups) < _GROUPS_OF_IPV6 and "::" in value_v6
    return len(value) if (full or short) and all(len(group) <= 4 for group in groups) else 0


def _phone(value: str) -> int:
    """ITU-T E.164 lengths; a balanced bracket; not one digit over and over."""
    digits = _digits(value)
    balanced = value.count("(") == value.count(")")
    return len(value) if len(digits) in _PHONE_DIGITS and balanced and len(set(digits)) > 2 else 0


def _national_phone(value: str) -> int:
    """With the trunk 0 most national numbers have 9 to 11 digits; dates have 8."""
    return _phone(value) if len(_digits(value)) in _NATIONAL_DIGITS else 0


def _jwt(value: str) -> int:
    """RFC 7515: the header is a JSON object that names the algorithm."""
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
}
