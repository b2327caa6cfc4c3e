"""Check digits of the ids of several countries. Each takes the candidate and returns its length, or 0 if rejected."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_DNI_LETTERS = "TRWAGMYFPDXBNJZSQVHLCKE"
_ODD = (1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 2, 4, 18, 20, 11, 3, 6, 8, 12, 14, 16, 10, 22, 25, 24, 23)
_RRN_WEIGHTS = (2, 3, 4, 5, 6, 7, 8, 9, 2, 3, 4, 5)
# Verhoeff's tables (1969): multiplication in the dihedral group of order 10, and the permutation of places.
_D = (
    "0123456789",
    "1234067895",
    "2340178956",
    "3401289567",
    "4012395678",
    "5987604321",
    "6598710432",
    "7659821043",
    "8765932104",
    "9876543210",
)
_P = (
    "0123456789",
    "1576283094",
    "5803796142",
    "8916043527",
    "9453126870",
    "4286573901",
    "2793806415",
    "7046913258",
)


def _digits(value: str) -> list[int]:
    return [int(c) for c in value if c.isdecimal()]


def _letters(value: str) -> str:
    return "".join(c for c in value if c.isalnum()).upper()


def _nhs(value: str) -> int:
    """Check an NHS number: weights 10 to 2, modulo 11 (NHS Data Dictionary)."""
    digits = _digits(value)
    check = -sum(digit * weight for digit, weight in zip(digits, range(10, 1, -1))) % 11
    return len(value) if len(digits) == 10 and check == digits[9] and len(set(digits)) > 1 else 0


def _steuer_id(value: str) -> int:
    """Check a German tax id: ISO 7064 modulo 11,10; among ten digits one or two repeat (Bundeszentralamt fuer Steuern)."""
    digits = _digits(value)
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
    return len(value) if number.isdecimal() and _DNI_LETTERS[int(number) % 23] == text[-1] else 0


def _codice_fiscale(value: str) -> int:
    """Check an Italian tax code: odd places by a table, even ones by rank, modulo 26 (Decreto 23 December 1976)."""
    text = _letters(value)
    if len(text) != 16 or not text.isascii():
        return 0
    ranks = [int(c) if c.isdecimal() else ord(c) - ord("A") for c in text[:15]]
    total = sum(_ODD[rank] if place % 2 == 0 else rank for place, rank in enumerate(ranks))
    return len(value) if chr(ord("A") + total % 26) == text[15] else 0


def _bsn(value: str) -> int:
    """Check a Dutch citizen number: weights 9 to 2 and -1, divisible by 11 (Rijksdienst voor Identiteitsgegevens)."""
    digits = _digits(value)
    total = sum(digit * weight for digit, weight in zip(digits, (9, 8, 7, 6, 5, 4, 3, 2, -1)))
    return len(value) if len(digits) == 9 and total % 11 == 0 and len(set(digits)) > 1 else 0


def _rrn(value: str) -> int:
    """Check a Korean resident number: a date, then weights modulo 11 (until October 2020; later ones carry no check digit)."""
    digits = _digits(value)
    if (
        len(digits) != 13
        or not 1 <= digits[2] * 10 + digits[3] <= 12
        or not 1 <= digits[4] * 10 + digits[5] <= 31
    ):
        return 0
    check = (11 - sum(digit * weight for digit, weight in zip(digits, _RRN_WEIGHTS)) % 11) % 10
    return len(value) if check == digits[12] else 0


def _aadhaar(value: str) -> int:
    """Check an Indian Aadhaar: Verhoeff's check digit (UIDAI), and a first digit of 2 to 9."""
    digits = _digits(value)
    check = 0
    for place, digit in enumerate(reversed(digits)):
        check = int(_D[check][int(_P[place % 8][digit])])
    return len(value) if len(digits) == 12 and digits[0] > 1 and check == 0 else 0


NATIONAL_CHECKS: Mapping[str, Callable[[str], int]] = {
    "aadhaar": _aadhaar,
    "bsn": _bsn,
    "codice-fiscale": _codice_fiscale,
    "dni": _dni,
    "nhs": _nhs,
    "nir": _nir,
    "rrn": _rrn,
    "steuer-id": _steuer_id,
}
