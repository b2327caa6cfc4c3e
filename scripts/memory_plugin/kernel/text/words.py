"""Words and stems: split a text after Unicode folding; identifiers give their parts and themselves, scripts without spaces give bigrams.

English stems are by the Porter2 algorithm (M. F. Porter, "The English (Porter2) stemming algorithm", snowballstem.org, 2002).
"""

from __future__ import annotations

from itertools import groupby

_JOINERS = "._-/"
_WORD_CHARACTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789" + _JOINERS
# Every other ASCII character separates words, except the apostrophe, which is removed: "user's" and "users" are one word.
_SEPARATORS = {code: chr(code) if chr(code) in _WORD_CHARACTERS else " " for code in range(128)}
_SEPARATORS[ord("'")] = ""
# Scripts without spaces between words, or with endings that fuse with the word: first and last code point.
_UNSPACED = (
    (0x0E00, 0x0EFF), (0x1000, 0x109F), (0x1780, 0x17FF), (0x2E80, 0x9FFF), (0xAC00, 0xD7AF), (0xF900, 0xFAFF), (0x20000, 0x3FFFF),
)  # fmt: skip
# Letters that have no decomposition.
_LETTERS = {"ø": "o", "đ": "d", "ł": "l", "æ": "ae", "œ": "oe", "\u0131": "i", "þ": "th", "ð": "d", "ħ": "h"}
_DEFAULT = "en"


def tokenize(text: str) -> list[str]:
    """Return the words of a text in order, lower case, unstemmed.

    An identifier, a path or a dotted name gives its parts and then itself (`userName.py` gives user, name, py, username.py); a run of
    a script without spaces gives its bigrams. Lone surrogates, control characters and punctuation give nothing.
    """
    result: list[str] = []
    for chunk in fold(text).translate(_SEPARATORS).split():
        if chunk.isalpha() and chunk.isascii() and (chunk[1:].islower() or len(chunk) == 1):
            result.append(chunk.lower())
        elif chunk.isascii():
            result.extend(_identifier(chunk.strip(_JOINERS)))
        else:
            # Runs of one kind of script, those without spaces as bigrams.
            for kind, run in groupby(chunk, _kind):
                result.extend(_run_words("".join(run), kind))
    return result


def is_compound_name(word: str) -> bool:
    """Return whether a word is a complete name with joiners, such as `user_name` or `store.py`."""
    return not word.isalnum()


def _identifier(chunk: str) -> list[str]:
    parts: list[str] = []
    for piece in chunk.translate(_PARTS).split():
        parts.extend(_camel_case_parts(piece))
    if len(parts) > 1:
        whole = chunk.lower()
        name = whole.rpartition("/")[2]
        if name != whole and len(name) > 2 and name not in parts:
            parts.append(name)
        parts.append(whole)
    return parts


_PARTS = {ord(char): " " for char in _JOINERS}


def _camel_case_parts(piece: str) -> list[str]:
    """Return the parts of camelCase, PascalCase, HTTPServer and utf8, lower case."""
    parts: list[str] = []
    start = 0
    for at in range(1, len(piece)):
        before, char = piece[at - 1], piece[at]
        after = piece[at + 1 : at + 2]
        if (
            char.isupper() and (before.islower() or (before.isupper() and after.islower()))
        ) or before.isdigit() != char.isdigit():
            parts.append(piece[start:at].lower())
            start = at
    if start < len(piece):
        parts.append(piece[start:].lower())
    return parts


def _kind(char: str) -> str:
    code = ord(char)
    if code >= 0x0E00:
        for first, last in _UNSPACED:
            if first <= code <= last:
                return "unspaced" if char.isalnum() or _is_mark(char) else ""
    if char.isalnum() or char in _JOINERS or (code > 127 and _is_mark(char)):
        return "word"
    return ""


def _is_mark(char: str) -> bool:
    from unicodedata import category

    return category(char)[0] == "M"


def _run_words(run: str, kind: str) -> list[str]:
    if kind == "unspaced":
        return [run[at : at + 2] for at in range(len(run) - 1)] or [run]
    if kind != "word":
        return []
    if run.isascii():
        return _identifier(run.strip(_JOINERS))
    return [part.casefold() for part in run.translate(_PARTS).split()]


def fold(text: str) -> str:
    """Return the text in compatibility form (NFKC), case kept, without the diacritics of Latin, Greek and Cyrillic letters.

    Marks of other scripts stay, because without a Devanagari vowel sign or a Japanese voicing mark a word is another word. Case stays
    because a capital may be the only boundary between two words of an identifier.
    """
    if text.isascii():
        return text
    from unicodedata import normalize

    text = normalize("NFKC", text)
    table = {ord(char): char for char in set(text) if not char.isascii()}
    for code, char in table.items():
        if char in "\u2018\u2019\u02bc\u2032":
            table[code] = "'"
        elif 0xC0 <= code < 0x530 or 0x1E00 <= code < 0x2000:
            table[code] = _base_letter(char, normalize("NFD", char)[0])
    return text.translate(table)


def _base_letter(char: str, base: str) -> str:
    if 0x300 <= ord(base) < 0x370:
        return ""
    if base in _LETTERS or char.lower() in _LETTERS:
        return _LETTERS.get(char.lower(), base)
    return base


def language(words: list[str], stopwords: dict[str, frozenset[str]]) -> str:
    """Return the language with the most stop words in the text; English for a draw or if there are none.

    `stopwords` has the stop words by language, including English.
    """
    counts = {name: sum(word in stop for word in words) for name, stop in stopwords.items()}
    best = max(counts, key=counts.__getitem__)
    return best if counts[best] > counts[_DEFAULT] else _DEFAULT


_VOWELS = frozenset("aeiouy")
_NO_SHORT_END = frozenset("aeiouywxY")
_DOUBLES = frozenset(("bb", "dd", "ff", "gg", "mm", "nn", "pp", "rr", "tt"))
# The letters after which an ending is one.
_BEFORE = {"ogi": frozenset("l"), "li": frozenset("cdeghkmnrt"), "ion": frozenset("st")}
_EXCEPTIONS = {
    "skis": "ski", "skies": "sky", "dying": "die", "lying": "lie", "tying": "tie", "idly": "idl", "gently": "gentl", "ugly": "ugli",
    "early": "earli", "only": "onli", "singly": "singl", "sky": "sky", "news": "news", "howe": "howe", "atlas": "atlas",
    "cosmos": "cosmos", "bias": "bias", "andes": "andes",
}  # fmt: skip
# The second line is ours: without it, customers and customs have one stem, and so have important and imports.
_AFTER_1A = frozenset((
    "inning", "outing", "canning", "herring", "earring", "evening", "proceed", "exceed", "succeed",
    "customer", "container", "important", "importance", "authority", "department", "experiment",
))  # fmt: skip
_REGION_STARTS = ("gener", "commun", "arsen", "past", "univers", "later", "emerg", "organ", "inter")
_STEP_2 = (
    ("ization", "ize"), ("ational", "ate"), ("fulness", "ful"), ("ousness", "ous"), ("iveness", "ive"), ("tional", "tion"),
    ("biliti", "ble"), ("lessli", "less"), ("entli", "ent"), ("ation", "ate"), ("alism", "al"), ("aliti", "al"), ("ousli", "ous"),
    ("iviti", "ive"), ("fulli", "ful"), ("enci", "ence"), ("anci", "ance"), ("abli", "able"), ("izer", "ize"), ("ator", "ate"),
    ("alli", "al"), ("bli", "ble"), ("ogist", "og"), ("ogi", "og"), ("li", ""),
)  # fmt: skip
_STEP_3 = (
    ("ational", "ate"), ("tional", "tion"), ("alize", "al"), ("icate", "ic"), ("iciti", "ic"), ("ative", ""), ("ical", "ic"),
    ("ness", ""), ("ful", ""),
)  # fmt: skip
_ENDINGS_4 = (
    "ement", "ance", "ence", "able", "ible", "ment", "ant", "ent", "ism", "ate", "iti", "ous", "ive", "ize", "ion", "al", "er", "ic",
)  # fmt: skip
_STEP_4 = tuple((ending, "") for ending in _ENDINGS_4)
# Most words have none of these endings, and one call for all of them tells.
_ENDINGS_2, _ENDINGS_3 = (tuple(ending for ending, _ in step) for step in (_STEP_2, _STEP_3))


def stems(text: str) -> set[str]:
    """Return the stems of a text's words."""
    return {form(word).partition("~")[0] for word in tokenize(text)}


def stems_of_forms(text: str) -> set[str]:
    """Return the stems in a text whose words are forms."""
    return {word.partition("~")[0] for word in text.split()}


def form(word: str) -> str:
    """Return a word as `stem~ending`; equal words give equal forms."""
    base = stem(word)
    if word.startswith(base):
        return base + "~" + word[len(base) :]
    shared = 0
    while shared < len(base) and base[shared] == word[shared]:
        shared += 1
    return base + "~" + word[shared:]


def stem(word: str) -> str:
    """Return the stem of a lower-case English word; any other word is returned unchanged."""
    if len(word) < 3 or not (word.isascii() and word.isalpha()):
        return word
    if word in _EXCEPTIONS:
        return _EXCEPTIONS[word]
    word = _mark_consonant_y(word)
    first, second = _regions(word)
    word = _plural(word)
    if word in _AFTER_1A:
        return word
    word = _past(word, first)
    if len(word) > 2 and word[-1] in "yY" and word[-2] not in _VOWELS:
        word = word[:-1] + "i"
    word = _replaced(word, _ENDINGS_2, _STEP_2, (first, second))
    word = _replaced(word, _ENDINGS_3, _STEP_3, (first, second))
    word = _replaced(word, _ENDINGS_4, _STEP_4, (second, second))
    return _final_e(word, first, second).lower()


def _mark_consonant_y(word: str) -> str:
    if "y" not in word:
        return word
    marked = "Y" + word[1:] if word[0] == "y" else word
    for at in range(1, len(marked)):
        if marked[at] == "y" and marked[at - 1] in _VOWELS:
            marked = marked[:at] + "Y" + marked[at + 1 :]
    return marked


def _regions(word: str) -> tuple[int, int]:
    """Return the offsets of the regions R1 and R2: after the first consonant that follows a vowel, and after the next such one."""
    starts = _REGION_STARTS if word.startswith(_REGION_STARTS) else ()
    first = next((len(start) for start in starts if word.startswith(start)), 0) or _region(word, 0)
    return first, _region(word, first)


def _region(word: str, start: int) -> int:
    for at in range(start + 1, len(word)):
        if word[at] not in _VOWELS and word[at - 1] in _VOWELS:
            return at + 1
    return len(word)


def _plural(word: str) -> str:
    if word[-1] == "s":
        if word.endswith("sses"):
            return word[:-2]
        if word.endswith("ies"):
            return word[:-2] if len(word) > 4 else word[:-1]
        if not word.endswith(("us", "ss")) and not _VOWELS.isdisjoint(word[:-2]):
            return word[:-1]
    elif word.endswith("ied"):
        return word[:-2] if len(word) > 4 else word[:-1]
    return word


def _past(word: str, first: int) -> str:
    for ending in ("eedly", "eed"):
        if word.endswith(ending):
            return word[: -len(ending)] + "ee" if len(word) - len(ending) >= first else word
    for ending in ("ingly", "edly", "ing", "ed"):
        if word.endswith(ending):
            base = word[: -len(ending)]
            return word if _VOWELS.isdisjoint(base) else _restored(base, first)
    return word


def _restored(base: str, first: int) -> str:
    if base.endswith(("at", "bl", "iz")):
        return base + "e"
    if base[-2:] in _DOUBLES:
        return base if len(base) == 3 and base[0] in "aeo" else base[:-1]
    if len(base) <= first and _ends_short(base):
        return base + "e"
    return base


def _ends_short(word: str) -> bool:
    """Return whether the word ends in a short syllable.

    That is a vowel and a consonant at its start, or a consonant, a vowel, and a consonant other than w, x and Y.
    """
    if len(word) == 2:
        return word[0] in _VOWELS and word[1] not in _VOWELS
    return len(word) > 2 and word[-1] not in _NO_SHORT_END and word[-2] in _VOWELS and word[-3] not in _VOWELS


def _replaced(
    word: str, endings: tuple[str, ...], step: tuple[tuple[str, str], ...], regions: tuple[int, int]
) -> str:
    """Return a word with its ending of a step replaced, if that is in the step's region: the first of two, the second for "ative"."""
    for ending, instead in step if word.endswith(endings) else ():
        if word.endswith(ending):
            base = word[: -len(ending)]
            is_ending = ending not in _BEFORE or base[-1:] in _BEFORE[ending]
            return base + instead if is_ending and len(base) >= regions[ending == "ative"] else word
    return word


def _final_e(word: str, first: int, second: int) -> str:
    base = word[:-1]
    if word.endswith("e") and (len(base) >= second or (len(base) >= first and not _ends_short(base))):
        return base
    if word.endswith("l") and len(base) >= second and base.endswith("l"):
        return base
    return word
