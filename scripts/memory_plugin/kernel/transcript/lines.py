"""Read the JSON objects of a transcript, whatever its lines contain.

Only a line feed ends a line, because U+2028 and similar characters occur inside texts. Cut lines, invalid UTF-8, a byte order mark and NUL
bytes after a crash are tolerated; objects that were printed over several lines are joined.
"""

from __future__ import annotations

from ..fastjson import loads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import IO, Any

MAX_LINE = 16 << 20  # bytes; two images of the largest size that the client accepts have 14 MB
_BOM = b"\xef\xbb\xbf"
_MAX_SPREAD = 1 << 20  # bytes of one object over several lines
_STRAY = b" \t\r\n\0"


class Lines:
    """An iterator over the objects in an open file, which is read once.

    `seen` is the number of lines that are not blank, `bad` of those without an object, and `long` of those above MAX_LINE bytes, which are
    skipped without being held in memory.
    """

    __slots__ = ("_file", "bad", "long", "seen")

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.seen = self.bad = self.long = 0

    def __iter__(self) -> Iterator[dict[str, Any]]:
        while True:
            line = self._file.readline(MAX_LINE)
            if not line:
                return
            if line[-1:] != b"\n" and len(line) == MAX_LINE:
                self._skip_line()
                continue
            line = line.strip(_STRAY)
            if not line:
                continue
            self.seen += 1
            record = self._spread(line) if line == b"{" else _object(line)
            if record is None:
                self.bad += 1
            else:
                yield record

    def _skip_line(self) -> None:
        """Skip the rest of a line that is too long."""
        self.seen += 1
        self.long += 1
        while True:
            piece = self._file.readline(MAX_LINE)
            if not piece or piece[-1:] == b"\n":
                return

    def _spread(self, first: bytes) -> dict[str, Any] | None:
        """Return the object that begins with a line of one brace and ends with the line that closes it."""
        pieces, size, depth = [first], 1, 1
        while depth > 0 and size < _MAX_SPREAD:
            line = self._file.readline(_MAX_SPREAD)
            if not line:
                break
            line = line.strip(_STRAY)
            pieces.append(line)
            size += len(line)
            depth += (line[-1:] in (b"{", b"[")) - (line[:1] in (b"}", b"]"))
        return _object(b"\n".join(pieces).rstrip(b","))


def _object(line: bytes) -> dict[str, Any] | None:
    line = line.removeprefix(_BOM)
    try:
        try:
            value = loads(line.decode("utf-8"))
        except UnicodeDecodeError:
            value = loads(line.decode("utf-8", "replace"))
    except ValueError:
        return None
    return value if isinstance(value, dict) else None
