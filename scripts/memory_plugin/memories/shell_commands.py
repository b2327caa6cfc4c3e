"""Find the simple commands of a shell command line (POSIX and bash), without running or expanding anything.

The words of each command are found without quotes and redirections, in lists, pipes, groups, substitutions and heredocs. The reader never
raises, takes linear time, and continues where a shell would stop with a syntax error. Aliases, variables, globs and brace expansion are
not resolved: such words stay as they are written.
"""

from __future__ import annotations

from .shell_words import WordReader

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .shell_words import Word

MAX_CHARACTERS = 200_000
_FILE, _HEREDOC, _TABBED_HEREDOC, _TEXT = "file", "heredoc", "tabbed heredoc", "text"
_OPERATORS = ";&|()<>"
_PAIRS = ("&&", "||", "|&")
_REDIRECTIONS = ("&>>", "&>", "<<<", "<<-", "<<", "<>", "<&", "<", ">>", ">&", ">|", ">")
_TARGETS = {"<<": _HEREDOC, "<<-": _TABBED_HEREDOC, "<<<": _TEXT}
# Words before a command that are not part of it; the words after `for`, `select` and `[[` are not commands either.
_RESERVED = frozenset(
    ["if", "then", "elif", "else", "fi", "while", "until", "do", "done", "!", "{", "}", "coproc"]
)
_PATTERN, _BODY = "pattern", "body"


class SimpleCommand:
    """One command: its words, the signs of its redirections, and its input from heredocs and here-strings.

    `operator` is what ends it, such as `&&` or a line feed; empty at the end. `depth` is above 0 inside a substitution.
    """

    __slots__ = ("depth", "inputs", "operator", "redirections", "words")

    def __init__(self) -> None:
        self.depth = 0
        self.operator = ""
        self.redirections: list[str] = []
        self.words: list[str] = []
        self.inputs: list[str] = []


class _Heredoc:
    """A heredoc whose body begins after the line."""

    __slots__ = ("command", "end", "quoted", "tabbed")

    def __init__(self, command: SimpleCommand, word: Word, *, tabbed: bool) -> None:
        self.command, self.end, self.quoted, self.tabbed = command, word.text, not word.plain, tabbed


class _CommandList:
    """The state of a command list being read: the command so far, open brackets and `case`s, and the role of the next word."""

    __slots__ = ("brackets", "cases", "command", "names_function", "target")

    def __init__(self) -> None:
        self.command = SimpleCommand()
        self.brackets = 0
        self.cases: list[str] = []
        self.target = ""
        self.names_function = False

    @property
    def in_pattern(self) -> bool:
        """Return whether a pattern of a `case` is being read."""
        return bool(self.cases) and self.cases[-1] == _PATTERN

    @property
    def in_test(self) -> bool:
        """Return whether the words are those of `[[`, where operators separate nothing."""
        words = self.command.words
        return bool(words) and words[0] == "[["


def shell_commands(text: str, depth: int = 0) -> list[SimpleCommand]:
    """Return the simple commands in the first 200,000 characters of a text; those of a substitution come before its command.

    `depth` is the nesting level of the text.
    """
    reader = _ScriptReader(text[:MAX_CHARACTERS].replace("\r\n", "\n"), depth)
    reader.read_script("")
    return reader.found


class _ScriptReader(WordReader):
    """A reader of commands; the base class reads their words."""

    __slots__ = ("found", "heredocs")

    def __init__(self, text: str, depth: int) -> None:
        super().__init__(text, depth)
        self.found: list[SimpleCommand] = []
        self.heredocs: list[_Heredoc] = []

    def read_script(self, closing: str) -> None:
        """Read commands up to the end, or up to and including the closing bracket."""
        block = _CommandList()
        while self.at < self.end:
            char = self.text[self.at]
            if char in " \t":
                self.at += 1
            elif char == "\n":
                self._end_line(block)
            elif char == "#":
                self.at = self.find("\n")
            elif self.text.startswith("\\\n", self.at):
                self.at += 2
            elif char not in _OPERATORS or self._is_process_substitution():
                self._take(block, self.read_word())
            elif self._operator(block, closing):
                return
        self._end_command(block)

    def _is_process_substitution(self) -> bool:
        return self.text.startswith(("<(", ">("), self.at) and self.may_descend()

    def read_nested(self, text: str, *, as_script: bool) -> None:
        """Read a text of its own: a script in backticks, or a text in which only substitutions are executed."""
        nested = _ScriptReader(text, self.depth + 1)
        if as_script:
            nested.read_script("")
        else:
            nested.read_expansions()
        self.found += nested.found

    def _end_command(self, block: _CommandList, operator: str = "") -> None:
        if block.command.words and not block.in_pattern:
            block.command.depth, block.command.operator = self.depth, operator
            self.found.append(block.command)
        elif self.found and not self.found[-1].operator:  # the operator after a group
            self.found[-1].operator = operator
        if not block.in_pattern:
            block.command = SimpleCommand()
        block.target = ""

    def _end_line(self, block: _CommandList) -> None:
        self.at += 1
        self._end_command(block, "\n")
        pending, self.heredocs = self.heredocs, []
        for heredoc in pending:
            body = self._heredoc_body(heredoc)
            heredoc.command.inputs.append(body)
            if not heredoc.quoted and self.may_descend():
                self.read_nested(body, as_script=False)

    def _heredoc_body(self, heredoc: _Heredoc) -> str:
        lines = []
        while self.at < self.end:
            stop = self.find("\n")
            line = self.text[self.at : stop]
            self.at = min(stop + 1, self.end)
            if heredoc.tabbed:
                line = line.lstrip("\t")
            if line == heredoc.end:
                break
            lines.append(line)
        return "\n".join(lines)

    def _take(self, block: _CommandList, word: Word) -> None:
        """Assign a word its role: a redirection's target, a pattern, an assignment, a reserved word, or part of the command."""
        words = block.command.words
        if block.target:
            self._take_target(block, word)
        elif block.in_pattern:
            if word.plain and word.text == "esac":
                block.cases.pop()
        elif block.names_function:
            block.names_function = False
        elif words and words[0] == "case" and len(words) == 2 and word.text == "in":
            block.command = SimpleCommand()
            block.cases.append(_PATTERN)
        elif block.in_test and word.plain and word.text == "]]":
            block.command = SimpleCommand()
        elif words or not (word.assigns or (word.plain and self._is_reserved(block, word.text))):
            words.append(word.text)

    def _is_reserved(self, block: _CommandList, text: str) -> bool:
        """Return whether a word before a command is not part of it, and record what it begins or ends."""
        if text == "esac" and block.cases:
            block.cases.pop()
            return True
        block.names_function = text == "function"
        return block.names_function or text in _RESERVED

    def _take_target(self, block: _CommandList, word: Word) -> None:
        if block.target == _TEXT:
            block.command.inputs.append(word.text)
        elif block.target != _FILE:
            self.heredocs.append(_Heredoc(block.command, word, tabbed=block.target == _TABBED_HEREDOC))
        block.target = ""

    def _operator(self, block: _CommandList, closing: str) -> bool:
        """Read an operator; return whether it was the closing bracket."""
        char = self.text[self.at]
        if block.in_test:
            self.at += 1
        elif char in "<>" or self.text.startswith("&>", self.at):
            self._redirect(block)
        elif char == "(":
            self._open(block)
        elif char == ")":
            return self._close(block, closing)
        else:
            self._separate(block)
        return False

    def _redirect(self, block: _CommandList) -> None:
        sign = next(
            redirection for redirection in _REDIRECTIONS if self.text.startswith(redirection, self.at)
        )
        words, number = block.command.words, ""
        joined = self.at > 0 and self.text[self.at - 1] not in " \t\n"
        if words and joined and sign[0] != "&" and words[-1].isdigit() and words[-1].isascii():
            number = words.pop()  # of a file descriptor
        self.at += len(sign)
        block.command.redirections.append(number + sign)
        block.target = _TARGETS.get(sign, _FILE)

    def _open(self, block: _CommandList) -> None:
        after = self.at + 1
        if block.in_pattern:
            self.at = after
            return
        end = self.arithmetic_end(self.at)
        if end:
            self.read_nested_between(after + 1, end - 2)
            self.at = end
            return
        while after < self.end and self.text[after] in " \t":
            after += 1
        if len(block.command.words) == 1 and self.text.startswith(")", after):
            block.command = SimpleCommand()  # `name ()` begins a function, whose body is a group
            self.at = after + 1
            return
        self._end_command(block)
        block.brackets += 1
        self.at += 1

    def _close(self, block: _CommandList, closing: str) -> bool:
        self.at += 1
        if block.in_pattern:
            block.cases[-1] = _BODY
            return False
        self._end_command(block)
        if block.brackets:
            block.brackets -= 1
            return False
        return closing == ")"

    def _separate(self, block: _CommandList) -> None:
        """Read `;`, `&`, `|` and their combinations, of which those with two semicolons end a branch of a `case`."""
        if block.cases and self.text.startswith((";;", ";&"), self.at):
            self._end_command(block, ";")
            self.at += 2
            block.cases[-1] = _PATTERN
            return
        pair = self.text[self.at : self.at + 2]
        operator = pair if pair in _PAIRS else pair[0]
        self._end_command(block, operator)
        self.at += len(operator)
