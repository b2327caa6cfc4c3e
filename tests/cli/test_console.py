"""Output to a terminal, to a pipe, and as JSON."""

from __future__ import annotations

import io
import json
import time

import pytest

from memory_plugin.cli.console import Console, columns, error_line, wrapped


class Stream(io.TextIOWrapper):
    """A text stream in memory that may claim to be a terminal."""

    def __init__(self, encoding: str = "utf-8", terminal: bool = False) -> None:
        super().__init__(io.BytesIO(), encoding=encoding, newline="")
        self.terminal = terminal

    def isatty(self) -> bool:
        """Return whether it claims to be a terminal."""
        return self.terminal

    @property
    def written(self) -> str:
        """Return everything written so far."""
        self.flush()
        buffer = self.buffer
        assert isinstance(buffer, io.BytesIO)
        return buffer.getvalue().decode(self.encoding)


def console(encoding: str = "utf-8", terminal: bool = False) -> tuple[Console, Stream, Stream]:
    """Return a console with its output and error streams."""
    out, err = Stream(encoding, terminal), Stream(encoding, terminal)
    return Console(out, err), out, err


def test_json_is_plain_ascii() -> None:
    screen, out, _ = console("ascii")
    screen.as_json = True
    screen.result({"a": "ä\ud800"}, "text")
    assert out.written.isascii()
    assert json.loads(out.written) == {"a": "ä\ud800"}


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_characters_that_the_encoding_lacks_are_escaped(encoding: str) -> None:
    screen, out, _ = console(encoding)
    screen.line("a 语 \ud800")
    assert out.written in ("a \\u8bed \\ud800\n", "a 语 \\ud800\n")


def test_an_error_is_one_line_without_control_characters() -> None:
    screen, out, err = console()
    screen.error("first\nsecond\x1b[2J \u202e third " + "x" * 5000)
    assert err.written.startswith("memory: first second[2J third xxx")
    assert err.written.count("\n") == 1
    assert len(err.written) < 2100
    assert out.written == ""


@pytest.mark.parametrize(
    ("terminal", "names", "colored"),
    [(True, {}, True), (False, {}, False), (True, {"NO_COLOR": "1"}, False), (True, {"TERM": "dumb"}, False)],
)
def test_color_is_only_for_terminals_that_want_it(
    monkeypatch: pytest.MonkeyPatch, terminal: bool, names: dict[str, str], colored: bool
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    for name, value in names.items():
        monkeypatch.setenv(name, value)
    screen, _, _ = console(terminal=terminal)
    assert screen.style("x", "bold", "red") == ("\033[1;31mx\033[0m" if colored else "x")
    assert screen.style("x") == "x"


@pytest.mark.parametrize("columns", ["40", "72", "100", "400"])
def test_a_paragraph_is_broken_between_words_on_a_terminal(
    monkeypatch: pytest.MonkeyPatch, columns: str
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    screen, out, _ = console(terminal=True)
    text = "a sentence of words and /a/path/that-is/not-broken; " * 8
    screen.paragraph(text.strip(), "      > ", 8)
    lines = out.written.splitlines()
    assert [line[:8] for line in lines] == ["      > ", *[" " * 8] * (len(lines) - 1)]
    assert max(map(len, lines)) <= min(int(columns), 100)
    assert " ".join(line[8:] for line in lines) == text.strip()


def test_a_paragraph_that_is_piped_is_one_line() -> None:
    screen, out, _ = console()
    text = "a sentence of words and more; " * 80
    screen.paragraph(text.strip(), "> ", 2)
    assert out.written == "> " + text.strip() + "\n"


def test_a_table_lines_up_wide_letters_too() -> None:
    screen, out, _ = console(terminal=True)
    screen.color = False
    screen.table(["ID", "TITLE"], [["a", "one"], ["数据", "two"], ["e\u0301", "three"]])
    assert out.written.splitlines() == ["ID    TITLE", "a     one", "数据  two", "é     three"]


def test_a_table_without_rows_is_only_headers() -> None:
    screen, out, _ = console()
    screen.table(["ID", "TITLE"], [])
    assert out.written == "ID\tTITLE\n"


def test_a_table_fits_the_terminal_by_shrinking_its_widest_columns() -> None:
    screen, out, _ = console(terminal=True)
    screen.color, screen.width = False, 40
    screen.table(["ID", "STATUS", "TITLE"], [["x" * 50, "active", "y" * 70]])
    head, row = out.written.splitlines()
    assert head == "ID".ljust(17) + "STATUS  TITLE"
    assert row == "x" * 14 + "\u2026  active  " + "y" * 14 + "\u2026"


def test_a_cell_is_one_line_without_hidden_characters_and_of_limited_length() -> None:
    screen, out, _ = console()
    screen.table(["ID", "TITLE"], [["a", "one\ntwo\x1b[1A\u200b" + "语" * 200], ["b", "x" * 100_000]])
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


def test_a_line_is_wrapped_on_a_terminal_and_whole_in_a_pipe(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "30")
    text = "note  a remark of some length that goes on"
    path = "  written: /a/path/that/is/wider/than/the/terminal.html"
    screen, out, err = console(terminal=True)
    screen.line(text)
    screen.line(path)
    screen.error("something went wrong in a place far away")
    assert out.written.splitlines() == [
        "note  a remark of some length",
        "      that goes on",
        "  written:",
        "    " + path.split()[1],
    ]
    assert err.written == "memory: something went wrong\n  in a place far away\n"
    screen, out, _ = console()
    screen.line(text)
    assert out.written == text + "\n"


@pytest.mark.parametrize("width", [8, 20, 33])
def test_wrapping_loses_no_word_and_styles_take_no_room(width: int) -> None:
    text = "  \033[1mbold\033[0m words  and a %s text with one-very-long-word-inside" % ("\u8bed\u8a00" * 5)
    lines = wrapped(text, width).split("\n")
    assert [line for line in lines if columns(line) > width and " " in line.strip()] == []
    assert "".join("".join(lines).split()) == "".join(text.split())


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        (
            "archived: rollback; to bring it back: memory restore rollback",
            ["archived: rollback; to bring it back:", "memory restore rollback"],
        ),
        (
            "gone; to bring it back: memory restore a; to delete it: memory forget a --now",
            ["gone; to bring it back:", "memory restore a; to delete it:", "memory forget a --now"],
        ),
        (
            'Save one: memory save "one, or two. Or three". Then go on with the rest of it.',
            ["Save one:", 'memory save "one, or two. Or three".', "Then go on with the rest of it."],
        ),
        (
            "To decide: memory accept --group g1f2e3d4c, memory reject --group g1f2e3d4c",
            ["To decide:", "memory accept --group g1f2e3d4c,", "memory reject --group g1f2e3d4c"],
        ),
        (
            "expected one of find, show, list; see `memory session --help`",
            ["expected one of find, show, list; see", "`memory session --help`"],
        ),
        (
            "sessions-id  /a/path/that/is/wider/than/forty/columns",
            ["sessions-id", "/a/path/that/is/wider/than/forty/columns"],
        ),
    ],
)
def test_a_command_that_a_text_names_stays_on_one_line(text: str, lines: list[str]) -> None:
    assert wrapped(text, 40).split("\n") == lines


def test_slow_work_shows_elapsed_time_on_a_terminal_until_it_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memory_plugin.cli.console._BEAT", 0.02)
    screen, out, err = console(terminal=True)
    with screen.working("reading"):
        end = time.monotonic() + 30
        while "reading: " not in err.written and time.monotonic() < end:
            time.sleep(0.01)
        screen.line("found")
    progress = err.written
    assert "\r\033[Kreading: 0 s" in progress
    assert progress.endswith("\r\033[K")
    assert out.written == "found\n"
    time.sleep(0.1)
    assert err.written == progress
    screen, _, err = console()
    with screen.working("reading"):
        time.sleep(0.1)
    assert err.written == ""
