"""Disguised secrets: each form is found completely, and the text around it stays."""

from __future__ import annotations

import base64
import html
from urllib.parse import quote

import pytest

from memory_plugin.kernel.hygiene import disguises, findings, redact

KEY = "ghp_" + "q7Wm2kLx9Vt0RfZc4Yb8Np1Hd6Js3Gu5Ae0K"
WORD = "kZ8w" + "Qm4tRx2v"

FORMS = {
    "no-break space": "Staging password:\u00a0%s" % WORD,
    "next line": "DB_PASSWORD:\n %s" % WORD,
    "next line, not indented": "DB_PASSWORD:\n%s\n" % WORD,
    "arrow": "password -> %s" % WORD,
    "arrow character": "password \u2192 %s" % WORD,
    "full-width colon": "password\uff1a%s" % WORD,
    "full-width equals": "password\uff1d%s" % WORD,
    "full-width value": "password: %s" % "".join(chr(ord(c) + 0xFEE0) for c in WORD),
    "percent": "x?y=1%26password%3D" + WORD,
    "percent twice": "password%253D" + WORD,
    "backticks": "`DB_PASSWORD` `%s`" % WORD,
    "backticks and colon": "`DB_PASSWORD`: `%s`" % WORD,
    "yaml literal": "password: |\n  %s\n" % WORD,
    "yaml folded": "password: >-\n  %s\n" % WORD,
    "yaml list": "passwords:\n  - %s\n" % WORD,
    "yaml nested": "api_key:\n  value: %s\n" % WORD,
    "json list": '{"DB_PASSWORD": ["%s"]}' % WORD,
    "json nested": '{"api_key": {"value": "%s"}}' % WORD,
    "json nested, spread": '{"api_key": {\n  "value": "%s"\n}}' % WORD,
    "table row": "| password | %s |" % WORD,
    "table column": "| user | password |\n| --- | --- |\n| anna | %s |\n" % WORD,
    "string concatenated": 'password = "%s" + "%s"' % (WORD[:6], WORD[6:]),
    "strings joined": 'password = ("%s"\n    "%s")' % (WORD[:6], WORD[6:]),
    "key concatenated": 'x = "%s" + "%s"' % (KEY[:12], KEY[12:]),
    "key over two lines": "%s\n%s" % (KEY[:20], KEY[20:]),
    "key over two quoted lines": "> %s\n> %s" % (KEY[:20], KEY[20:]),
    "key continued": "%s\\\n%s" % (KEY[:20], KEY[20:]),
    "base64 of a key": base64.b64encode(KEY.encode()).decode(),
    "base64 of an assignment": base64.b64encode(("password=" + WORD).encode()).decode(),
    "unicode escape": KEY.replace("g", "\\u0067", 1),
    "hexadecimal escape": KEY.replace("g", "\\x67", 1),
    "html escapes": "".join("&#%d;" % ord(c) for c in KEY),
    "html quotes": html.escape('password="%s"' % WORD),
    "percent escapes": "".join("%%%02x" % ord(c) for c in KEY),
    "percent quotes": quote('password="%s"' % WORD),
    "zero-width space": KEY[:9] + "\u200b" + KEY[9:],
    "a control character": KEY[:9] + "\x07" + KEY[9:],
    "soft hyphen": KEY[:9] + "\u00ad" + KEY[9:],
    "soft hyphen in the name": "pass\u00adword: " + WORD,
    "cyrillic letters": KEY.replace("p", "\u0440"),
    "cyrillic letters in the name": "p\u0430ssw\u043erd: " + WORD,
    "color codes": ">>>\x1b[93m%s\x1b[0m<<<" % KEY,
    "spanish": "contrase\u00f1a: " + WORD,
    "french": "mot de passe : " + WORD,
    "german": "Kennwort: " + WORD,
    "russian": "\u043f\u0430\u0440\u043e\u043b\u044c: " + WORD,
    "chinese": "\u5bc6\u7801\uff1a" + WORD,
    "curly quotes": "password: \u201c%s\u201d" % WORD,
}


@pytest.mark.parametrize("around", ["%s", "see the notes below\n%s\nand restart it"])
def test_each_form_is_found(around: str) -> None:
    for name, text in FORMS.items():
        redacted = redact(around % text, "judge").text
        assert "[redacted:" in redacted, name
        for piece in (WORD, WORD[6:], KEY[20:], KEY[9:], KEY[12:]):
            assert piece not in redacted, name
        assert ("restart it" in redacted) == ("restart it" in around), name
        assert redact(redacted, "judge").text == redacted, name


def test_text_that_only_looks_disguised_is_kept() -> None:
    cases = [
        "password:\nhost1:\n  name: x",
        "password:\n  required: true1\n",
        "| password | required1 or not |",
        "| cache | sha256sum2 |",
        "cat token | base64 | head -c40",
        "The password\nmigration2024 starts",
        "100%25 of 5%20 reports",
        "AT&amp;T &#38; others\u2026 \u2013 \u00fcber \u5bc6",
        'x = "abc" + "def"',
        "caf\u00e9 \u043c\u0438\u0440 12345",
        base64.b64encode(b"nothing of interest is in this text").decode(),
        "reference_of_commit_4f2a\nsecond_line_of_prose_7",
    ]
    assert [text for text in cases if findings(text) != []] == []


def test_a_row_within_a_sentence_ends_no_search_for_tables() -> None:
    text = "see | this | row |\n\n| password | %s |\n" % WORD
    assert WORD not in redact(text).text


def test_the_columns_of_one_table_are_not_those_of_the_next() -> None:
    first, other = "| user | password |\n| --- | --- |\n| anna | %s |\n" % WORD, "hV3x" + "Tn9qPd6s"
    redacted = redact("%s\nAnother one:\n\n| bert | %s |\n" % (first, other)).text
    assert (WORD in redacted, other in redacted) == (False, True)


def test_places_are_those_of_the_original() -> None:
    text = "a\u00a0b p\u0430ssword:\u00a0%s\u200b end" % WORD
    (found,) = findings(text)
    assert text[found.start : found.end].rstrip("\u200b") == WORD


def test_an_escape_says_one_character() -> None:
    cases = [("\\uff41", "a"), ("\\ud83d", " "), ("\\u{110000}", " "), ("\\x1f", " "), ("\\x41", "A")]
    assert [(escaped, plain) for escaped, plain in cases if disguises._escape(escaped) != plain] == []


def test_each_character_of_a_foreign_run_has_its_own_place() -> None:
    text = "see \u0430\ufb01\u0430 there"  # the ligature becomes two letters
    found = list(disguises.spellings(text))
    assert found == [("a", 4, 5), ("fi", 5, 6), ("a", 6, 7)]


def test_each_place_counts_from_the_start_of_the_text() -> None:
    text = "at \u0430\ufb01\u0430"
    assert [piece[1:] for piece in disguises.spellings(text)] == [(3, 4), (4, 5), (5, 6)]


def test_two_letters_for_one_keep_their_places_within_a_run() -> None:
    text = "see \ufb01\ufb02\ufb01 there"
    assert list(disguises.spellings(text)) == [
        ("fi", 4, 5),
        ("fl", 5, 6),
        ("fi", 6, 7),
    ]
