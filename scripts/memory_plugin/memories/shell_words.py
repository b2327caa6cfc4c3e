"""Split a shell command line into words: quotes and escapes are removed, and the scripts of substitutions are read, too.

Expansions stay in a word as they are written, a substitution as `$()`.
"""

from __future__ import annotations

# Nested substitutions, and texts in `bash -c`; deeper ones are read as groups of the same list.
MAX_DEPTH = 16
_ENDS_WORD = " \t\n;&|()<>"
_SPECIAL = "\\'\"$`="
_DOUBLE_ESCAPES = '$`"\\\n'
_ENDS_QUOTED_PIECE = "\"'$`\\}"
# A name is at most a few pieces: itself, and an index in brackets.
_MAX_NAME_PARTS = 8
_SUBSTITUTED = "$()"
_ANSI = {
    "n": "\n",
    "t": "\t",
    "r": "\r",
    "a": "\a",
    "b": "\b",
    "f": "\f",
    "v": "\v",
    "e": "\x1b",
    "E": "\x1b",
}
_ANSI_DIGITS = {"x": (16, 2), "u": (16, 4), "U": (16, 8)}
_HEX, _OCTAL = "0123456789abcdefABCDEF", "01234567"


class Word:
    """A word: its text, whether it was written without quotes and escapes, and whether it assigns a variable."""

    __slots__ = ("assigns", "plain", "text")

    def __init__(self) -> None:
        self.text = ""
        self.plain = True
        self.assigns = False


class WordReader:
    """A text and the position up to which it was read. A subclass reads scripts: substitutions contain commands again."""

    __slots__ = ("_brackets", "at", "depth", "end", "text")

    def __init__(self, text: str, depth: int) -> None:
        self.text = text
        self.depth = depth
        self.at = 0
        self.end = len(text)
        self._brackets: dict[int, int] | None = None

    def read_script(self, closing: str) -> None:
        """Read commands up to the closing bracket. The subclass must override this."""
        raise NotImplementedError

    def read_nested(self, text: str, *, as_script: bool) -> None:
        """Read a separate text, one level deeper. The subclass must override this."""
        raise NotImplementedError

    def may_descend(self) -> bool:
        """Return whether one more level of nesting is read."""
        return self.depth < MAX_DEPTH

    def find(self, sign: str) -> int:
        """Return the position of the next occurrence of a character, or the end of the text."""
        found = self.text.find(sign, self.at)
        return self.end if found < 0 else found

    def read_word(self) -> Word:
        """Read a word, up to a blank or an operator."""
        word = Word()
        parts: list[str] = []
        while self.at < self.end:
            char = self.text[self.at]
            if char in "<>" and self.text.startswith("(", self.at + 1) and self.may_descend():
                self.at += 2
                self._descend(parts)
            elif char in _ENDS_WORD:
                break
            elif char in _SPECIAL:
                word.plain = self._special(char, parts, word) and word.plain
            else:
                self._plain_run(parts)
        word.text = "".join(parts)
        return word

    def _plain_run(self, parts: list[str]) -> None:
        start = self.at
        while (
            self.at < self.end and self.text[self.at] not in _ENDS_WORD and self.text[self.at] not in _SPECIAL
        ):
            self.at += 1
        parts.append(self.text[start : self.at])

    def _special(self, char: str, parts: list[str], word: Word) -> bool:
        """Read a quote, an escape, an expansion or `=`; return whether it leaves the word plain (without quotes and escapes)."""
        if char == "=":
            self._equals(parts, word)
            return True
        if char == "$":
            return self._dollar(parts, quoted=False)
        if char == "`":
            self._backticks(parts)
            return True
        if char == "'":
            self.at += 1
            self._until("'", parts)
        elif char == '"':
            self._double(parts)
        elif self.text.startswith("\n", self.at + 1):  # the line continues
            self.at += 2
            return True
        else:
            parts.append(self.text[self.at + 1 : self.at + 2])
            self.at += 2
        return False

    def _equals(self, parts: list[str], word: Word) -> None:
        self.at += 1
        is_name = word.plain and not word.assigns and len(parts) <= _MAX_NAME_PARTS
        name = "".join(parts).rstrip("+").partition("[")[0] if is_name else ""
        parts.append("=")
        if name.isidentifier():
            word.assigns = True
            if self.text.startswith("(", self.at) and self.may_descend():
                self.at += 1
                self.depth += 1
                self._array()
                self.depth -= 1

    def _array(self) -> None:
        """Read the values of an array, which are words and not commands."""
        while self.at < self.end and self.text[self.at] != ")":
            char = self.text[self.at]
            if char == "#":
                self.at = self.find("\n")
            elif char in _ENDS_WORD:
                self.at += 1
            else:
                self.read_word()
        self.at += 1

    def _until(self, sign: str, parts: list[str]) -> None:
        stop = self.find(sign)
        parts.append(self.text[self.at : stop])
        self.at = min(stop + 1, self.end)

    def _double(self, parts: list[str]) -> None:
        self.at += 1
        while self.at < self.end and self.text[self.at] != '"':
            self._quoted_piece(parts)
        self.at += 1

    def _quoted_piece(self, parts: list[str]) -> None:
        """Read an escape, an expansion or a character where only those have a meaning."""
        char = self.text[self.at]
        if char == "$":
            self._dollar(parts, quoted=True)
        elif char == "`":
            self._backticks(parts)
        elif char == "\\":
            escaped = self.text[self.at + 1 : self.at + 2]
            self.at += 2
            if escaped != "\n":
                parts.append(escaped if escaped in _DOUBLE_ESCAPES else "\\" + escaped)
        else:
            start = self.at
            self.at += 1
            while self.at < self.end and self.text[self.at] not in _ENDS_QUOTED_PIECE:
                self.at += 1
            parts.append(self.text[start : self.at])

    def read_expansions(self) -> None:
        """Read a text in which only substitutions are executed, such as a heredoc."""
        parts: list[str] = []
        while self.at < self.end:
            self._quoted_piece(parts)

    def read_nested_between(self, start: int, stop: int) -> None:
        """Read a part of the text, such as an arithmetic expression, in which only substitutions are executed."""
        part = self.text[start:stop]
        if self.may_descend() and ("$(" in part or "`" in part):
            self.read_nested(part, as_script=False)

    def _dollar(self, parts: list[str], *, quoted: bool) -> bool:
        """Read an expansion or a quoted text that begins with `$`; return False for a quoted text."""
        after = self.text[self.at + 1 : self.at + 2]
        end = self.arithmetic_end(self.at + 1) if after == "(" else 0
        if end:
            self.read_nested_between(self.at + 3, end - 2)
            parts.append(self.text[self.at : end])
            self.at = end
        elif after == "(" and self.may_descend():
            self.at += 2
            self._descend(parts)
        elif after == "{" and self.may_descend():
            self._braces(parts)
        elif after == "'" and not quoted:
            self.at += 2
            self._ansi(parts)
            return False
        elif after == '"' and not quoted:
            self.at += 1
            self._double(parts)
            return False
        else:
            parts.append("$")
            self.at += 1
        return True

    def _descend(self, parts: list[str]) -> None:
        """Read a substitution, whose script ends at its own bracket."""
        self.depth += 1
        self.read_script(")")
        self.depth -= 1
        parts.append(_SUBSTITUTED)

    def _braces(self, parts: list[str]) -> None:
        """Read `${...}`, whose default may contain quotes and substitutions."""
        self.depth += 1
        self.at += 2
        parts.append("${")
        while self.at < self.end and self.text[self.at] != "}":
            char = self.text[self.at]
            if char == '"':
                self._double(parts)
            elif char == "'":
                self.at += 1
                self._until("'", parts)
            else:
                self._quoted_piece(parts)
        self.at += 1
        self.depth -= 1
        parts.append("}")

    def _backticks(self, parts: list[str]) -> None:
        self.at += 1
        script: list[str] = []
        while self.at < self.end and self.text[self.at] != "`":
            if self.text[self.at] == "\\" and self.text[self.at + 1 : self.at + 2] in ("`", "$", "\\"):
                self.at += 1
            script.append(self.text[self.at])
            self.at += 1
        self.at += 1
        if self.may_descend():
            self.read_nested("".join(script), as_script=True)
        parts.append(_SUBSTITUTED)

    def _ansi(self, parts: list[str]) -> None:
        """Read the rest of `$'...'`, with C escapes."""
        while self.at < self.end and self.text[self.at] != "'":
            char = self.text[self.at]
            self.at += 1
            parts.append(self._ansi_escape() if char == "\\" else char)
        self.at += 1

    def _ansi_escape(self) -> str:
        char = self.text[self.at : self.at + 1]
        base, max_digits = _ANSI_DIGITS.get(char, (8, 3))
        start = self.at + (base == 16)
        stop = start
        while stop < min(start + max_digits, self.end) and self.text[stop] in (
            _HEX if base == 16 else _OCTAL
        ):
            stop += 1
        if stop == start:
            self.at += 1
            return _ANSI.get(char, char)
        self.at = stop
        code = int(self.text[start:stop], base)
        return chr(code) if code < 0x110000 else ""

    def arithmetic_end(self, start: int) -> int:
        """Return the end of the `((...))` at `start`; 0 if there is none, because two brackets may also open two groups."""
        if not self.text.startswith("((", start):
            return 0
        if self._brackets is None:
            self._brackets = _matching_brackets(self.text)
        outer, inner = self._brackets.get(start, -1), self._brackets.get(start + 1, -1)
        return outer + 1 if inner >= 0 and outer == inner + 1 else 0


def _matching_brackets(text: str) -> dict[int, int]:
    """Return the offset of the closing parenthesis for each opening one; quotes are ignored."""
    closing: dict[int, int] = {}
    opened: list[int] = []
    for at, char in enumerate(text):
        if char == "(":
            opened.append(at)
        elif char == ")" and opened:
            closing[opened.pop()] = at
    return closing
