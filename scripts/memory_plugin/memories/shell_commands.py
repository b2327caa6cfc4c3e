"""Find the simple commands of a shell command line (POSIX and bash), without running or expanding anything.

The words of each command are found without quotes and redirections, in lists, pipes, groups, substitutions and heredocs. The reader never
raises, takes linear time, and continues where a shell would stop with a syntax error. Aliases, variables, globs, brace expansion and
arithmetic are not resolved: such words stay as they are written, a substitution as `$()`. Where a shell would read something else, the
reader finds more commands rather than fewer.
"""

from __future__ import annotations

import re
from typing import NamedTuple

MAX_CHARACTERS = 200_000
# Nested substitutions, and texts in `bash -c`; deeper ones are read as groups of the same list.
_MAX_DEPTH = 16
# Heredocs whose end is searched in vain, each time to the end of the text; after them, the bodies of others are read as commands.
_MAX_UNENDED = 20
_OPERATORS = ";&|()<>"
_ENDS_WORD = " \t\n" + _OPERATORS
_PROCESS_SUBSTITUTIONS = ("<(", ">(")
_TEXT, _HEREDOC, _TABBED_HEREDOC = "<<<", "<<", "<<-"  # redirections whose target is no file
# Words before a command that are not part of it; the words after `for`, `select`, `case` and `[[` are not commands either.
_RESERVED = frozenset(
    ["if", "then", "elif", "else", "fi", "while", "until", "do", "done", "esac", "!", "{", "}", "]]", "function"]
)  # fmt: skip
_BEFORE_RESERVED = re.compile(r"time(?: -p)?|coproc(?: \S+)?")

_SKIPPED = re.compile(r"[ \t]+|\\\n|#[^\n]*")
# After the number of a descriptor.
_REDIRECTION = re.compile(r"((?:[0-9]+(?=[<>]))?)(&>>?|<<<|<<-?|<[>&]?|>[>&|]?)")
# The pattern of a clause of `case`, if it is on one line and holds no substitution.
_PATTERN = r"(?:\s*(?=\S)\(?(?!esac\b)(?:[^()\n;&'\"`$\\]|'[^'\n]{0,99}'|\"[^\"(`\\\n]{0,99}\"|\$\w{1,99}(?!\w)|\\.){1,200}\))?"
_CASE = re.compile(_PATTERN)
_SEPARATOR = re.compile(r";;&?|;&|&&|\|\||\|&|[;&|]")
_ENDS_CLAUSE = (";;", ";&", ";;&")
_NO_PARAMETERS = re.compile(r"\([ \t]*\)")
_ASSIGNMENT = re.compile(r"[^\W\d]\w*(?:\[[^\]\n]{0,100}\])?\+?=")
# A piece of a word: one without quotes, with `${...}` as far as this holds no quotes, substitutions and brackets; a line that continues;
# a quoted text; or an escape.
_PIECE = re.compile(
    r"(?P<plain>(?:[^ \t\n;&|()<>\\'\"$`]+|\$\{(?=[^ \t\n|])(?:[^(){}'\"`$\\\n]|\$\w{1,99}(?!\w)|\$\{\w{1,99}\}){0,200}\})+)"
    r"|(?P<joined>\\\n)|'(?P<single>[^']*)'?|\$'(?P<ansi>(?:[^'\\]+|\\.)*)'?|(?P<double>\$?\")|\\(?P<escaped>.?)",
    re.DOTALL,
)
_BACKTICKS = re.compile(r"`((?:[^`\\]+|\\.)*)`?", re.DOTALL)
_FUNCTION_SUBSTITUTION = re.compile(r"\$\{(?:\||(?=[ \t\n]))")  # `${ command; }` of bash 5.3
_IN_QUOTES = re.compile(r".[^\"$`\\}]*", re.DOTALL)
_QUOTED_QUOTE = "'\"'"  # as in `${x%'"'}`
_DOUBLE_ESCAPES = '$`"\\'
_ESCAPE = re.compile(r"(?s)\\(?:x([\da-fA-F]{1,2})|u([\da-fA-F]{1,4})|U([\da-fA-F]{1,8})|([0-7]{1,3})|(.))")
_CONTROLS = dict(zip("ntrabfveE", "\n\t\r\a\b\f\v\x1b\x1b"))


class SimpleCommand:
    """One command: its words, the signs of its redirections, and its input from heredocs and here-strings.

    `operator` is what ends it, such as `&&` or a line feed; empty at the end. `depth` is above 0 inside a substitution.
    """

    def __init__(self) -> None:
        self.depth = 0
        self.operator = ""
        self.redirections: list[str] = []
        self.words: list[str] = []
        self.inputs: list[str] = []


class _Word(NamedTuple):
    """A word: its text, whether it was written without quotes and escapes, and whether it assigns a variable."""

    text: str
    plain: bool
    assigns: bool


class _CommandList:
    """The state of a command list being read: the command so far, the open brackets, braces and `case`s, and the role of the next word."""

    is_simple = False  # whether the command is none of the shell's own, such as `case`
    braces = brackets = 0
    target = ""  # the redirection whose target the next word is
    names_function = False

    def __init__(self) -> None:
        self.command = SimpleCommand()
        self.cases: list[int] = []  # of each open `case`, the number of brackets open around it


def shell_commands(text: str, depth: int = 0) -> list[SimpleCommand]:
    """Return the simple commands in the first 200,000 characters of a text; those of a substitution come before its command.

    `depth` is the nesting level of the text.
    """
    reader = _Reader(text[:MAX_CHARACTERS].replace("\r\n", "\n"), depth)
    reader.read_list()
    return reader.found


class _Reader:
    """A text, the position up to which it was read, and the commands and pending heredocs that were found."""

    def __init__(self, text: str, depth: int) -> None:
        self._text = text
        self._depth = depth
        self._at = 0
        self._braces = 0  # the open `${`, in which a `#` begins no comment
        self._heredocs: list[tuple[SimpleCommand, _Word, str]] = []
        self._unended = 0
        self.found: list[SimpleCommand] = []

    def read_list(self, closing: str = "") -> None:
        """Read commands up to the end, or up to and including the closing bracket or brace."""
        block = _CommandList()
        while self._at < len(self._text):
            char = self._text[self._at]
            skipped = _SKIPPED.match(self._text, self._at)
            if skipped and not (char == "#" and self._braces):
                self._at = skipped.end()
            elif char == closing == "}" and not (block.braces or block.command.words):
                self._at += 1
                return
            elif char == "\n":
                self._end_line(block)
            elif self._is_process_substitution():
                self._take(block, self._word())
            elif sign := _REDIRECTION.match(self._text, self._at):
                self._at = sign.end()
                block.command.redirections.append(sign[0])
                block.target = sign[2]
            elif char not in _OPERATORS:
                self._take(block, self._word())
            elif char == ")":
                self._at += 1
                self._end_command(block)
                if closing == ")" and not block.brackets:
                    return
                block.brackets = max(0, block.brackets - 1)
            else:
                self._operator(block)
        self._end_command(block)

    def _end_command(self, block: _CommandList, operator: str = "") -> None:
        if block.command.words:
            block.command.depth, block.command.operator = self._depth, operator
            self.found.append(block.command)
        elif self.found and not self.found[-1].operator:  # the operator after a group
            self.found[-1].operator = operator
        block.command = SimpleCommand()
        block.is_simple = False
        block.target = ""

    def _end_line(self, block: _CommandList) -> None:
        self._at += 1
        self._end_command(block, "\n")
        pending, self._heredocs = self._heredocs, []
        for command, word, sign in pending:
            tabs = "\t*" if sign == _TABBED_HEREDOC else ""
            end = re.compile("^%s%s$" % (tabs, re.escape(word.text)), re.MULTILINE)
            found = end.search(self._text, self._at) if self._unended < _MAX_UNENDED else None
            if found is None:  # a shift in arithmetic, or a mistake: what follows are commands
                self._unended += 1
                continue
            body = self._text[self._at : found.start()]
            self._at = found.end()
            command.inputs.append(body)
            if word.plain and self._may_descend():
                nested = _Reader(body, self._depth + 1)
                nested._read_quoted([], "\0")
                self.found += nested.found

    def _take(self, block: _CommandList, word: _Word) -> None:
        """Assign a word its role: a redirection's target, a function's name, a word before the command, or part of the command."""
        text, is_reserved = word.text, word.plain and word.text in _RESERVED
        if is_reserved and _BEFORE_RESERVED.fullmatch(" ".join(block.command.words[:3])):
            self._end_command(block)
        words = block.command.words
        if block.target:
            if block.target == _TEXT:
                block.command.inputs.append(text)
            elif block.target in (_HEREDOC, _TABBED_HEREDOC):
                self._heredocs.append((block.command, word, block.target))
            block.target = ""
        elif block.names_function:
            block.names_function = False
        elif words or not (word.assigns or is_reserved):
            words.append(text)
            block.is_simple |= not word.plain and len(words) != 2
            block.is_simple |= len(words) == 1 and bool(block.command.redirections)
            if words[0] == "case" and words[2:] == ["in"] and not block.is_simple:
                self._end_command(block)
                block.cases.append(block.brackets)
                self._skip_pattern(block)
        else:
            block.is_simple |= word.assigns
            block.names_function = text == "function"
            block.braces += (text == "{") - (text == "}")
            if text == "esac" and block.cases:
                block.cases.pop()

    def _skip_pattern(self, block: _CommandList) -> None:
        if block.cases[-1:] == [block.brackets] and not self._braces:
            pattern = _CASE.match(self._text, self._at)
            self._at = pattern.end() if pattern else self._at

    def _operator(self, block: _CommandList) -> None:
        """Read an operator that ends a command, an opening bracket, or the beginning of a function, whose body is a group."""
        separator = _SEPARATOR.match(self._text, self._at)
        function = _NO_PARAMETERS.match(self._text, self._at)
        if separator:
            self._end_command(block, separator[0])
            self._at = separator.end()
            if separator[0] in _ENDS_CLAUSE:
                self._skip_pattern(block)
        elif function and len(block.command.words) == 1:
            block.command = SimpleCommand()
            self._at = function.end()
        else:
            self._end_command(block)
            block.brackets += 1
            self._at += 1

    def _is_process_substitution(self) -> bool:
        return self._text.startswith(_PROCESS_SUBSTITUTIONS, self._at) and self._may_descend()

    def _may_descend(self) -> bool:
        return self._depth < _MAX_DEPTH

    def _word(self) -> _Word:
        """Read a word, up to a blank or an operator."""
        assigns, parts, plain = _ASSIGNMENT.match(self._text, self._at) is not None, list[str](), True
        while self._at < len(self._text):
            if self._is_process_substitution():
                self._substitution(parts)
            elif assigns and self._text.startswith("=(", self._at - 1) and self._may_descend():
                self._substitution(parts, "(")
            elif self._text[self._at] in _ENDS_WORD:
                break
            else:
                plain &= self._piece(parts)
        return _Word("".join(parts), plain, assigns)

    def _piece(self, parts: list[str]) -> bool:
        """Read a piece of a word or an expansion; return whether it was written without quotes and escapes."""
        piece = _PIECE.match(self._text, self._at)
        if piece is None:
            self._braces += self._text.startswith("${", self._at)
            self._expansion(parts)
            return True
        self._at, kind = piece.end(), str(piece.lastgroup)
        if kind == "plain":
            self._braces = max(0, self._braces - piece[0].count("}") + piece[0].count("${"))
        if kind == "double":
            self._read_quoted(parts, '"')
        elif kind != "joined":
            parts.append(_ESCAPE.sub(_unescaped, piece[kind]) if kind == "ansi" else piece[kind])
        return kind in ("plain", "joined")

    def _read_quoted(self, parts: list[str], closing: str) -> None:
        """Read a text in which only escapes and expansions have a meaning, up to and including the closing quote.

        An expansion such as `${x:-"a"}` may contain quotes again.
        """
        open_until = [closing]
        while self._at < len(self._text):
            start, char = self._at, self._text[self._at]
            if char == open_until[-1]:
                open_until.pop()
                self._at += 1
                if not open_until:
                    return
                parts.append(char)
            elif open_until[-1] == "}" and char == '"' and self._text[start - 1 : start + 2] != _QUOTED_QUOTE:
                open_until.append(char)
                self._at += 1
            elif char in "$`":
                self._expansion(parts)
                if self._text.startswith("${", start) and self._at == start + 1:
                    open_until.append("}")
            elif char == "\\":
                escaped = self._text[self._at + 1 : self._at + 2]
                self._at += 2
                if escaped != "\n":
                    parts.append(escaped if escaped in _DOUBLE_ESCAPES else "\\" + escaped)
            else:
                piece = _IN_QUOTES.match(self._text, self._at)
                assert piece is not None
                parts.append(piece[0])
                self._at = piece.end()

    def _expansion(self, parts: list[str]) -> None:
        """Read a substitution, whose commands are read, too, or the `$` of a variable."""
        backticks = _BACKTICKS.match(self._text, self._at)
        function = _FUNCTION_SUBSTITUTION.match(self._text, self._at)
        if function and self._may_descend():
            self._substitution(parts, function[0], "}")
        elif backticks:
            self._at = backticks.end()
            if self._may_descend():
                self.found += shell_commands(re.sub(r"\\([`$\\])", r"\1", backticks[1]), self._depth + 1)
            parts.append("$()")
        elif self._text.startswith("$(", self._at) and self._may_descend():
            self._substitution(parts)
        else:
            size = 2 if self._text.startswith("$$", self._at) else 1  # `$$` is a variable
            parts.append("$" * size)
            self._at += size

    def _substitution(self, parts: list[str], opening: str = "$(", closing: str = ")") -> None:
        """Read a substitution, arithmetic or an array; of the last two, only the commands of substitutions inside count."""
        start, count = self._at, len(self.found)
        self._at += len(opening)
        self._depth += 1
        braces, self._braces = self._braces, 0
        self.read_list(closing)
        self._braces = braces
        is_arithmetic = self._text.startswith("$((", start) and self._text.endswith("))", start, self._at)
        if is_arithmetic or opening == "(":
            self.found[count:] = [command for command in self.found[count:] if command.depth > self._depth]
        self._depth -= 1
        parts.append("$()")


def _unescaped(escape: re.Match[str]) -> str:
    """Return the character of an escape in `$'...'`."""
    hexadecimal, octal = escape[1] or escape[2] or escape[3], escape[4]
    if hexadecimal or octal:
        return chr(min(0x10FFFF, int(hexadecimal, 16) if hexadecimal else int(octal, 8) & 0xFF))
    return _CONTROLS.get(escape[5], escape[5])
