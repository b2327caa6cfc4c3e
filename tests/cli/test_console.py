"""What is written to a terminal, a pipe, or a program."""

from __future__ import annotations

import io
import json

import pytest

from memory_plugin.cli.console import Console, error_line


class Stream(io.TextIOWrapper):
    """A text stream in memory that may claim to be a terminal."""

    def __init__(self, encoding: str = "utf-8", terminal: bool = False) -> None:
        super().__init__(io.BytesIO(), encoding=encoding, newline="")
        self.terminal = terminal

    def isatty(self) -> bool:
        """Whether it claims to be a terminal."""
        return self.terminal

    @property
    def written(self) -> str:
        """All that was written so far."""
        self.flush()
        buffer = self.buffer
        assert isinstance(buffer, io.BytesIO)
        return buffer.getvalue().decode(self.encoding)


def console(encoding: str = "utf-8", terminal: bool = False) -> tuple[Console, Stream, Stream]:
    out, err = Stream(encoding, terminal), Stream(encoding, terminal)
    return Console(out, err), out, err


def test_json_is_plain_ascii() -> None:
    one, out, _ = console("ascii")
    one.json({"a": "ä\ud800"})
    assert out.written.isascii()
    assert json.loads(out.written) == {"a": "ä\ud800"}


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_what_the_terminal_s_encoding_lacks_is_escaped(encoding: str) -> None:
    one, out, _ = console(encoding)
    one.line("a 语 \ud800")
    assert out.written in ("a \\u8bed \\ud800\n", "a 语 \\ud800\n")


def test_an_error_is_one_line_that_moves_no_cursor() -> None:
    one, out, err = console()
    one.error("first\nsecond\x1b[2J \u202e third " + "x" * 5000)
    assert err.written.startswith("memory: first second[2J third xxx")
    assert err.written.count("\n") == 1
    assert len(err.written) < 2100
    assert out.written == ""


@pytest.mark.parametrize(
    ("terminal", "names", "coloured"),
    [(True, {}, True), (False, {}, False), (True, {"NO_COLOR": "1"}, False), (True, {"TERM": "dumb"}, False)],
)
def test_color_is_only_for_terminals_that_want_it(
    monkeypatch: pytest.MonkeyPatch, terminal: bool, names: dict[str, str], coloured: bool
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    for name, value in names.items():
        monkeypatch.setenv(name, value)
    one, _, _ = console(terminal=terminal)
    assert one.style("x", "bold", "red") == ("\033[1;31mx\033[0m" if coloured else "x")
    assert one.style("x") == "x"


@pytest.mark.parametrize("columns", ["40", "72", "100", "400"])
def test_a_paragraph_is_broken_between_words_on_a_terminal(
    monkeypatch: pytest.MonkeyPatch, columns: str
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    one, out, _ = console(terminal=True)
    text = "a sentence of words and /a/path/that-is/not-broken; " * 8
    one.paragraph(text.strip(), "      > ", 8)
    lines = out.written.splitlines()
    assert [line[:8] for line in lines] == ["      > ", *[" " * 8] * (len(lines) - 1)]
    assert max(map(len, lines)) <= min(int(columns), 100)
    assert " ".join(line[8:] for line in lines) == text.strip()


def test_a_paragraph_that_is_piped_is_one_line() -> None:
    one, out, _ = console()
    text = "a sentence of words and more; " * 80
    one.paragraph(text.strip(), "> ", 2)
    assert out.written == "> " + text.strip() + "\n"


def test_a_table_lines_up_wide_letters_too() -> None:
    one, out, _ = console(terminal=True)
    one.color = False
    one.table(["ID", "TITLE"], [["a", "one"], ["数据", "two"], ["e\u0301", "three"]])
    assert out.written.splitlines() == ["ID    TITLE", "a     one", "数据  two", "é     three"]


def test_a_table_without_rows_is_its_head() -> None:
    one, out, _ = console()
    one.table(["ID", "TITLE"], [])
    assert out.written == "ID\tTITLE\n"


def test_a_table_fits_the_terminal_and_its_widest_column_gives_way() -> None:
    one, out, _ = console(terminal=True)
    one.color, one.width = False, 40
    one.table(["ID", "STATUS", "TITLE"], [["x" * 50, "active", "y" * 70]])
    head, row = out.written.splitlines()
    assert head == "ID".ljust(17) + "STATUS  TITLE"
    assert row == "x" * 14 + "\u2026  active  " + "y" * 14 + "\u2026"


def test_a_cell_neither_breaks_the_line_nor_hides_nor_runs_over() -> None:
    one, out, _ = console()
    one.table(["ID", "TITLE"], [["a", "one\ntwo\x1b[1A\u200b" + "语" * 200], ["b", "x" * 100_000]])
    lines = out.written.splitlines()
    assert len(lines) == 3
    assert "\x1b" not in out.written
    assert lines[2].endswith("…")  # piped, so no terminal cuts it, but no cell is endless
    assert len(lines[2]) < 2000


@pytest.mark.parametrize("fault", [MemoryError(), OSError(5, "Input/output error"), ValueError("rules")])
def test_an_error_is_printed_although_the_rules_cannot_be_read(
    monkeypatch: pytest.MonkeyPatch, fault: Exception
) -> None:
    def failing(*_: object) -> str:
        raise fault

    monkeypatch.setattr("memory_plugin.memories.hygiene.shown_line", failing)
    assert error_line("no\nsuch \x1b[31mfile") == "no such [31mfile"
