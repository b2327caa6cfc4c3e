"""Words: identifiers in parts and as a whole, other scripts, and arbitrary text."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from memory_plugin.kernel.text.words import tokenize

CASES = {
    "prose": ("Use Postgres, please!", "use postgres please"),
    "a possessive is its plural": ("user's users'", "users users"),
    "camelCase": ("getUserName", "get user name getusername"),
    "an acronym before a word": ("HTTPServer", "http server httpserver"),
    "snake_case": ("user_name", "user name user_name"),
    "digits part from letters": ("utf8", "utf 8 utf8"),
    "a dotted name": ("os.path.join", "os path join os.path.join"),
    "a path gives its file, too": (
        "src/billing/store.py",
        "src billing store py store.py src/billing/store.py",
    ),
    "a version": ("v1.2", "v 1 2 v1.2"),
    "a hyphen": ("re-run", "re run re-run"),
    "joiners at the edge": ("--force ./run.sh end.", "force run sh run.sh end"),
    "an error code": ("error:E11000", "error e 11000 e11000"),
    "Chinese as bigrams": ("数据库", "数据 据库"),
    "one character alone": ("库", "库"),
    "Japanese beside English": ("Postgresのデータ", "postgres のデ デー ータ"),
    "Korean as bigrams": ("데이터", "데이 이터"),
    "Thai as bigrams": ("ฐาน", "ฐา าน"),
    "German": ("Straße größer", "strasse grosser"),
    "Greek": ("Βάση", "βαση"),
    "nothing but signs": ("?! -- …", ""),
    "control characters": ("a\0b\x1bc", "a b c"),
    "a lone surrogate": ("ab\ud800cd", "ab cd"),
}


def test_words() -> None:
    assert [
        (text, expected) for text, expected in CASES.values() if " ".join(tokenize(text)) != expected
    ] == []


@given(st.text(alphabet=st.characters(codec=None)))
def test_words_of_any_text_have_no_space_mark_or_surrogate(text: str) -> None:
    for word in tokenize(text):
        assert word
        assert not set(word) & set(" ~+\"'*\0")
        word.encode()


@given(st.text())
def test_case_does_not_matter_to_plain_words(text: str) -> None:
    plain = "".join(char for char in text if char.isascii() and (char.isalpha() or char == " ")).lower()
    assert tokenize(plain) == tokenize(plain.title()) == plain.split()
